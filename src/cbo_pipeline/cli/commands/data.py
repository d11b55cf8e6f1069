"""The command that gets data: ``fetch-mnist``."""

from pathlib import Path

from cbo_pipeline.cli import outputs, streams
from cbo_pipeline.cli.commands.options import add_command, add_force, check_output

PURPOSE = "by hand"


def declare(commands) -> None:
    what = "get the files of MNIST, check those that are there, and write what training reads"
    command = add_command(commands, "fetch-mnist", what, _fetch_mnist)
    command.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="the files go to DIR/MNIST/raw (default: the environment variable CBO_DATA_DIR, or data)",
    )
    command.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="DIR",
        help="folder that has the files, raw or as .gz (it is only read)",
    )
    command.add_argument(
        "--output", type=outputs.file_name, metavar="FILE", help="write what was checked, as md5sum does"
    )
    add_force(command)


def _fetch_mnist(options) -> int:
    from cbo_pipeline.problems._mnist_arrays import folder
    from cbo_pipeline.workflow import fetch_mnist

    if options.output:
        check_output(options, "list of MNIST's files")
    fetch_mnist.fetch(options.data_dir or folder(), options.source, streams.say)
    if options.output:
        fetch_mnist.write_manifest(options.output)
    return 0
