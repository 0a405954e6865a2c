"""The physics: everything that imports Taichi, and nothing that draws.

Taichi reads its environment while it is imported, so what must hold for every kernel file of this
package is set here, before any of them runs:

- no banner, since stdout belongs to a command's own output (`--json`);
- no chatter below errors on stderr, unless TI_LOG_LEVEL asks for it;
- no warnings about the spelling of Taichi's own docstrings, which Python 3.12 and later give when
  they compile them;
- no question to a server about newer versions;
- a home folder, without which Taichi's core aborts the process.
"""

import os
import warnings
from pathlib import Path

os.environ["ENABLE_TAICHI_HEADER_PRINT"] = "0"
os.environ["TI_SKIP_VERSION_CHECK"] = "ON"
os.environ.setdefault("TI_LOG_LEVEL", "error")
# While it compiles, Python knows a file by its path, not by its module's name.
warnings.filterwarnings("ignore", category=SyntaxWarning, module=r".*[/\\]taichi[/\\]")
if os.name == "posix" and not os.environ.get("HOME"):
    os.environ.pop("HOME", None)  # an empty one would read as the root folder
    try:
        os.environ["HOME"] = str(Path.home())
    except RuntimeError:  # a user id without an account, as containers have them
        os.environ["HOME"] = "/tmp"
