"""``python -m cbo_pipeline`` is the command ``cbo-pipeline``."""

from cbo_pipeline.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
