"""A real browser for tests of pages: opened, shown a page, and asked what it shows."""

import json
import shutil
from contextlib import contextmanager, suppress

import pytest

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
NEEDS_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver"),
]

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1200,900",
)  # fmt: skip


@contextmanager
def opened_browser(profile):
    """Chromium without a window, with its profile in an empty folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def go(browser, path, *, width=1200, scheme="light", media="screen"):
    """Open a page with a size and a color scheme, and forget what happened before."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    return browser


def dismiss(browser):
    """Close the alert that a page should not have opened."""
    from selenium.common.exceptions import NoAlertPresentException

    with suppress(NoAlertPresentException):
        browser.switch_to.alert.dismiss()


def elements(browser, selector):
    from selenium.webdriver.common.by import By

    return browser.find_elements(By.CSS_SELECTOR, selector)


def element(browser, selector):
    return elements(browser, selector)[0]


def shown(browser, selector):
    return [found for found in elements(browser, selector) if found.is_displayed()]


def press(browser, *keys):
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def requests(browser):
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if not url.startswith(("data:", "about:"))]


def check_page(browser, path, scheme):
    """The page opened without errors and without a network; dark is dark and light is light."""
    assert browser.get_log("browser") == []
    assert requests(browser) == [path.as_uri()]
    assert browser.execute_script("return document.querySelector('h1').innerText")
    # Dark is dark and light is light, letters stand out from both.
    color, ground = (
        browser.execute_script(f"return getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    brightness = {name: sum(int(v) for v in value[4:-1].split(",")) / 3 for name, value in
                  (("color", color), ("ground", ground))}  # fmt: skip
    assert (brightness["ground"] > 230) if scheme == "light" else (brightness["ground"] < 40)
    assert abs(brightness["ground"] - brightness["color"]) > 180


# WCAG's contrast of every piece of text with what lies under it; those below 4.5.
CONTRASTS = """
const parse = (text) => {
  const c = text.match(/[\\d.]+/g).map(Number), unit = text.startsWith('color(') ? 255 : 1;
  return [c[0] * unit, c[1] * unit, c[2] * unit, c.length < 4 ? 1 : c[3]];
};
const over = (top, under) => under.map((v, i) => top[i] * top[3] + v * (1 - top[3]));
const linear = (v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const light = (c) => .2126 * linear(c[0] / 255) + .7152 * linear(c[1] / 255) + .0722 * linear(c[2] / 255);
const up = (e) => e ? [...up(e.parentElement), e] : [];
const low = [];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || e.closest('svg, script, style, .skip')) continue;
  const styles = up(e).map((a) => getComputedStyle(a));
  const under = styles.reduce((c, style) => over(parse(style.backgroundColor), c), [255, 255, 255]);
  const color = parse(styles.at(-1).color);
  color[3] *= styles.reduce((o, style) => o * Number(style.opacity), 1);
  const [a, b] = [light(over(color, under)), light(under)].sort((x, y) => y - x);
  if ((a + .05) / (b + .05) < 4.5) low.push([e.className, e.textContent.slice(0, 20), (a + .05) / (b + .05)]);
}
return low;
"""
