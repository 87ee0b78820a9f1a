"""What is said before the numbers of a run."""

import pytest

from pellucid.summaries import HELD_OUT, ModelSummary
from pellucid.verdicts import NEAR_ZERO, unexplained, verdict


@pytest.mark.parametrize(
    ("deep", "game", "tested", "words"),
    [
        ((0.5, 0.2), (0.5, 0.1), 100, []),
        ((0.5, 0.2), (1.0, 0.1), 100, ["hardly better"]),
        ((0.5, 0.2), (0.5, 0.2), 100, ["no more transparent"]),
        ((0.5, 0.2), (float("nan"), 0.3), 5, ["hardly better", "no more transparent", "The test is small (5)"]),
        ((1.0, None), None, 100, ["hardly better"]),
    ],
)
def test_what_is_said_before_the_numbers(deep, game, tested, words):
    models = {
        name: ModelSummary(scores={"relative_error": scores[0], "deviation": scores[1]})
        for name, scores in (("DEEP", deep), ("GAME", game))
        if scores is not None
    }
    sentences = verdict(models, tested=tested, transparency="deviation")
    assert len(sentences) == len(words)
    assert all(word in sentence for word, sentence in zip(words, sentences, strict=True))


@pytest.mark.parametrize(
    ("share", "words"), [(0.949, "raise its weight"), (0.98, "explain 98 % where"), (None, "raise")]
)
def test_where_deep_is_explained_well_no_larger_weight_is_advised(share, words):
    models = {name: ModelSummary(scores={"deviation": 0.1, HELD_OUT: share}) for name in ("DEEP", "GAME")}
    (sentence,) = verdict(models, tested=100, transparency="deviation")
    assert sentence.startswith("GAME is no more transparent than DEEP")
    assert words in sentence
    assert ("raise" in sentence) == (share != 0.98)


def test_witnesses_that_explain_nothing_are_named():
    shares = {"DEEP": NEAR_ZERO - 0.01, "GAME": NEAR_ZERO}
    models = {name: ModelSummary(scores={HELD_OUT: share}) for name, share in shares.items()}
    (sentence,) = unexplained({**models, "OLD": ModelSummary()}, "the laws explain nothing", "try others")
    assert sentence == (
        "DEEP: the laws explain nothing (held-out variance explained 0.04), however small the deviation. Do not read "
        "them as what the network does; try others."
    )
