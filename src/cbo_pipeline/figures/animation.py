"""The animation of figure `gathering`: the ensemble gathers around the sine, epoch by epoch, as a GIF."""

from pathlib import Path

import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.animation import PillowWriter
from PIL import Image

from cbo_pipeline.errors import UserError
from cbo_pipeline.figures import style
from cbo_pipeline.figures.gathering import draw_ensemble
from cbo_pipeline.files import mark, whole_file

SIZE = (4.8, 3.0)  # inches
DPI = 100
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
            axes.clear()
            draw_ensemble(axes, run, epoch)
            axes.set(xlabel="$x$", ylabel="$y$")

        draw(epochs[0])
        figure.canvas.draw()
        figure.set_layout_engine("none")  # one layout for all frames
        writer = _Writer(fps=FRAMES_PER_SECOND)
        with whole_file(path) as partial, writer.saving(figure, partial, DPI):
            for epoch in epochs:
                draw(epoch)
                writer.grab_frame()
        plt.close(figure)


class _Writer(PillowWriter):
    """Frames of few colours, which are all that the animation has: a third of the bytes."""

    COLOURS = 48

    def finish(self) -> None:
        """Write all frames with one palette, as a GIF whatever the file is called."""
        first = self._frames[len(self._frames) // 3].convert("RGB").quantize(self.COLOURS, Image.Quantize.MAXCOVERAGE)
        frames = [frame.convert("RGB").quantize(palette=first, dither=0) for frame in self._frames]
        each = int(1000 / self.fps)  # milliseconds
        frames[0].save(
            self.outfile,
            format="GIF",
            save_all=True,
            append_images=frames[1:],
            duration=[*[each] * (len(frames) - 1), STILL * each],
            loop=0,
            comment=mark("figure").encode(),
            optimize=True,
        )
