"""Where the program's own files lie, in a checkout and in an installed package alike.

A checkout keeps `assets/` and `scenes/` at its top level, where people look for them; a wheel
carries them inside the package, as `_data/` (see pyproject.toml).
"""

from __future__ import annotations

from pathlib import Path

import platformdirs

_PACKAGE = Path(__file__).resolve().parent


def _data_dir(name: str) -> Path:
    # The wheel's copy comes first: beside an installed package, in site-packages, a folder called
    # "assets" is somebody else's.
    for folder in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"the folder {name}/ of Matterbox is missing (looked beside and inside {_PACKAGE}): "
        "install the package again"
    )


def assets_dir() -> Path:
    """Folder of the material library, shaders, fonts and colour maps.

    Raises FileNotFoundError when the installation is incomplete.
    """
    return _data_dir("assets")


def scenes_dir() -> Path:
    """Folder of the shipped scenes.

    Raises FileNotFoundError when the installation is incomplete.
    """
    return _data_dir("scenes")


def cache_dir() -> Path:
    """The user's folder for what can be made again, such as compiled kernels; it may not exist."""
    return platformdirs.user_cache_path("matterbox", appauthor=False)
