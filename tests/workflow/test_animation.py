"""The animation of the gathering ensemble: a GIF of few bytes, the same for the same results."""

import pytest
from PIL import Image

import page_results
import synthetic
from cbo_pipeline.errors import UserError
from cbo_pipeline.figures import animation


@pytest.fixture(scope="module")
def data():
    found = synthetic.summary(page_results.gathering())
    found["risk_over_seeds"] = found["risk"].median("seed").expand_dims(statistic=["median"])
    return {"gathering": found.set_xindex("variant")}


def test_one_frame_per_stored_epoch_and_a_pause_at_the_end(data, tmp_path):
    animation.gathering(data, tmp_path / "one.gif")
    with Image.open(tmp_path / "one.gif") as film:
        assert film.n_frames == len(page_results.FRAMES)
        shown = []
        for k in range(film.n_frames):
            film.seek(k)
            shown.append(film.info["duration"])
        assert film.info["loop"] == 0
    assert shown == [200] * (len(shown) - 1) + [200 * animation.STILL]
    assert (tmp_path / "one.gif").stat().st_size < 2_000_000
    animation.gathering(data, tmp_path / "two.gif")
    assert (tmp_path / "one.gif").read_bytes() == (tmp_path / "two.gif").read_bytes()


def test_other_names_and_missing_results_are_refused(data, tmp_path):
    with pytest.raises(UserError) as refused:
        animation.gathering(data, tmp_path / "film.png")
    assert refused.value.code == "not-an-option"
    with pytest.raises(UserError) as refused:
        animation.gathering({}, tmp_path / "film.gif")
    assert refused.value.code == "other-experiment"
