"""The animation of figure `gathering`: the ensemble gathers around the sine, epoch by epoch, as a GIF."""

from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

from cbo_pipeline.errors import UserError
from cbo_pipeline.figures import style
from cbo_pipeline.figures.gathering import draw_ensemble
from cbo_pipeline.files import mark, whole_file
from cbo_pipeline.results.code import stage_digest

SIZE = (4.8, 3.0)  # inches
DPI = 100
COLOURS = 48
FRAMES_PER_SECOND = 5
STILL = 8  # frames for which the last one is shown: a pause before the animation starts again


def gathering(data: dict[str, xr.Dataset], path: Path) -> None:
    """Draw the animation from the summary of the experiment ``gathering``; the same summary gives the same bytes."""
    if Path(path).suffix != ".gif":
        words = f"{path}: the animation is written as .gif; end the name with it"
        raise UserError(words, code="not-an-option", key="--output", file=str(path))
    if "gathering" not in data:
        words = f"the summary is of {', '.join(data)}, but the animation shows gathering; name the summary of that"
        raise UserError(words, code="other-experiment", key="summary")
    run = style.curve(data["gathering"], "cbo")
    epochs = [int(epoch) for epoch in run["kept_epoch"].values if epoch in run["snapshot"].values]
    with style.applied():
        figure, axes = plt.subplots(figsize=SIZE, dpi=DPI)

        def draw(epoch: int) -> None:
            for shown in [*axes.collections, *axes.lines]:  # the axes themselves stay
                shown.remove()
            draw_ensemble(axes, run, epoch)
            axes.set(xlabel="$x$", ylabel="$y$")

        draw(epochs[0])
        figure.canvas.draw()
        figure.set_layout_engine("none")  # one layout for all frames
        frames = []
        for epoch in epochs:
            draw(epoch)
            frames.append(_frame(figure))
        plt.close(figure)
    with whole_file(path) as partial:
        _save(frames, partial)


def _frame(figure: Figure) -> Image.Image:
    """What a figure shows now."""
    figure.canvas.draw()
    return Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")


def _save(frames: list[Image.Image], path: Path) -> None:
    """Write all frames with one palette of few colours, all that the animation has: a third of the bytes."""
    palette = frames[len(frames) // 3].quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    first, *others = [frame.quantize(palette=palette, dither=0) for frame in frames]
    each = 1000 // FRAMES_PER_SECOND  # milliseconds
    first.save(
        path,
        format="GIF",  # whatever the file is called
        save_all=True,
        append_images=others,
        duration=[*[each] * len(others), STILL * each],
        loop=0,
        comment=mark("figure", stage_digest("figures.animation")).encode(),
        optimize=True,
    )
