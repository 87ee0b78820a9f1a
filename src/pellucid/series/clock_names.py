"""What columns of times are called, in several languages, and the units that their names tell."""

# Names of times, which need only rise; and of what may be a time, which must rise evenly.
TIMES = {
    "time", "times", "timestamp", "timestamps", "datetime", "date", "dates", "epoch", "clock", "elapsed", "unixtime",
    "seconds", "second", "secs", "sec", "milliseconds", "microseconds", "nanoseconds", "ms", "minutes", "hours", "days",
    "weeks", "months", "years", "year", "zeit", "zeitstempel", "datum", "uhrzeit", "heure", "tiempo", "fecha",
}  # fmt: skip
COUNTS = {
    "t", "sample", "samples", "index", "idx", "frame", "step", "row", "number", "no", "nr", "cycle", "cycles", "tick",
    "ticks", "counter", "timer", "microsecond", "millisecond", "nanosecond", "usec", "msec", "unnamed",
}  # fmt: skip
# What else stands in the name of a time: units and where it comes from.
BESIDE = {
    "s", "us", "ns", "h", "hr", "hrs", "min", "d", "stamp", "utc", "gmt", "local", "unix", "posix", "system", "since",
    "start", "begin", "from", "of", "the", "in", "test", "run", "running", "total", "operating", "measurement",
    "recording", "relative", "data", "point", "record", "line", "reading", "gps", "daq", "server", "logger",
}  # fmt: skip
WRAPS = {"microsecond", "microseconds", "us", "usec", "millisecond", "milliseconds", "ms", "msec", "nanosecond",
          "nanoseconds", "ns", "tick", "ticks", "counter", "timer", "clock"}  # fmt: skip

CALENDAR = {
    "year": (1900, 2100), "quarter": (1, 4), "month": (1, 12), "week": (1, 53), "day": (1, 31), "weekday": (0, 7),
    "yearday": (1, 366), "hour": (0, 24), "minute": (0, 60), "second": (0, 61), "millisecond": (0, 1000),
    "microsecond": (0, 1e6), "nanosecond": (0, 1e9),
}  # fmt: skip
ALIASES = {
    "yr": "year", "years": "year", "qtr": "quarter", "mon": "month", "dayofmonth": "day", "mday": "day",
    "dayofweek": "weekday", "dow": "weekday", "wday": "weekday", "dayofyear": "yearday", "doy": "yearday",
    "weekofyear": "week", "hr": "hour", "hourofday": "hour", "hours": "hour", "minutes": "minute", "sec": "second",
    "secs": "second", "seconds": "second", "msec": "millisecond", "ms": "millisecond", "milliseconds": "millisecond",
    "usec": "microsecond", "us": "microsecond", "microseconds": "microsecond", "nsec": "nanosecond",
    "ns": "nanosecond", "nanoseconds": "nanosecond",
    "jahr": "year", "monat": "month", "woche": "week", "wochentag": "weekday", "stunde": "hour", "stunden": "hour",
    "minuten": "minute", "sekunde": "second", "sekunden": "second", "sek": "second", "millisekunde": "millisecond",
    "millisekunden": "millisecond", "mikrosekunde": "microsecond", "mikrosekunden": "microsecond",
    "annee": "year", "mois": "month", "jour": "day", "heure": "hour", "heures": "hour", "seconde": "second",
    "secondes": "second", "milliseconde": "millisecond", "microseconde": "microsecond",
    "hora": "hour", "horas": "hour", "minuto": "minute", "minutos": "minute", "segundo": "second",
    "segundos": "second", "milisegundo": "millisecond", "microsegundo": "microsecond",
    "ora": "hour", "ore": "hour", "minuti": "minute", "secondo": "second", "secondi": "second",
}  # fmt: skip
# Names that mean a part of a clock only beside others of it: "std" and "min" may be statistics, "m" a mass.
BESIDE_OTHERS = {
    "y": "year", "mo": "month", "tag": "day", "d": "day", "dia": "day", "mes": "month", "ano": "year", "h": "hour",
    "hh": "hour", "std": "hour", "m": "minute", "mm": "minute", "min": "minute", "mins": "minute", "s": "second",
    "ss": "second",
}  # fmt: skip
# Those that go round, by names that mean nothing else.
CYCLES = ("quarter", "month", "week", "day", "weekday", "yearday", "hour", "minute", "second")
SECONDS = {
    "hour": 3600.0, "minute": 60.0, "second": 1.0, "millisecond": 1e-3, "microsecond": 1e-6, "nanosecond": 1e-9
}  # fmt: skip
# Units in the names of times, and how many of them a second has where times are counted from 1970.
UNITS = {
    "s": ("s", "sec", "secs", "second", "seconds", "sekunde", "sekunden"),
    "ms": ("ms", "msec", "millisecond", "milliseconds"), "us": ("us", "usec", "microsecond", "microseconds"),
    "ns": ("ns", "nanosecond", "nanoseconds"), "min": ("min", "minutes"), "h": ("h", "hr", "hrs", "hours"),
    "days": ("d", "days"),
}  # fmt: skip
EPOCHS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
