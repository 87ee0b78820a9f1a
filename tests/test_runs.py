"""What all runs say before their numbers."""

from pellucid import runs


def test_models_whose_witnesses_say_nothing_are_named():
    models = {
        name: {"scores": {"explained_left_out": share}}
        for name, share in (("DEEP", -0.45), ("GAME", 0.06), ("other", None), ("near", 0.04))
    }
    sentences = runs.unexplained(models, "the laws explain nothing at steps they were not fitted to", "try another")
    assert [sentence.partition(":")[0] for sentence in sentences] == ["DEEP", "near"]
    assert sentences[0] == (
        "DEEP: the laws explain nothing at steps they were not fitted to (held-out variance explained -0.45), however "
        "small the deviation. Do not read them as what the network does; try another."
    )
