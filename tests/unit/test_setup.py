"""Contract of the set-up: packaging/*.sh, the package's laziness, and what travels in a wheel.

An interpreter counts only when it runs and fits; where none does, one sentence says what to do.
System packages are looked up, never assumed: nothing missing means no call to apt-get. `.venv` is
made once and again only when pyproject.toml or its place changes.
"""

import os
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

posix = pytest.mark.skipif(os.name != "posix", reason="the scripts are for POSIX shells")
linux_x86 = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.uname().machine != "x86_64",
    reason="system packages are looked up on Linux on x86-64 only",
)


class Box:
    """A PATH of its own: a few real tools, and whatever stand-ins a test puts there."""

    TOOLS = (
        *("sh", "cat", "cksum", "cp", "dirname", "grep", "head", "mkdir", "mktemp", "mv"),
        *("printf", "pwd", "rm", "sed", "tail", "touch", "uname"),
    )

    def __init__(self, folder):
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log"
        for tool in self.TOOLS:
            if found := shutil.which(tool):
                (self.bin / tool).symlink_to(found)

    def put(self, name, script, folder=None):
        path = (folder or self.bin) / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def put_python(self, name, version, *, lacks=(), first=":", folder=None):
        """A real interpreter that claims to be another version and may lack modules.

        `first` is shell code that runs before it.
        """
        path = (folder or self.bin) / name
        preface = (
            f"import sys; sys.version_info = {version!r}; sys._base_executable = {str(path)!r}; "
            f"sys.modules.update(dict.fromkeys({list(lacks)!r})); exec(sys.argv[1])"
        )
        return self.put(name, f'{first}\nexec "{sys.executable}" -c "{preface}" "$2"', folder)

    def logged(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def run(self, script, *arguments, cwd=None, **environment):
        return subprocess.run(
            ["/bin/sh", str(script), *arguments],
            capture_output=True,
            text=True,
            cwd=cwd or self.folder,
            env={"PATH": str(self.bin), "HOME": str(self.folder), **environment},
            timeout=60,
        )


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path)


# ---------------------------------------------------------------- find_python.sh

FIND_PYTHON = ROOT / "packaging" / "find_python.sh"


@posix
def test_the_newest_fitting_interpreter_wins(box):
    box.put_python("python3.11", (3, 11, 9))
    newest = box.put_python("python3.12", (3, 12, 1))
    box.put_python("python3", (3, 14, 0))
    answer = box.run(FIND_PYTHON)
    assert (answer.returncode, answer.stdout.strip(), answer.stderr) == (0, str(newest), "")


@posix
def test_a_python3_without_a_version_in_its_name_is_found(box):
    only = box.put_python("python3", (3, 13, 0))
    assert box.run(FIND_PYTHON).stdout.strip() == str(only)


@posix
def test_a_shim_that_fails_is_skipped_even_where_it_hides_a_working_one(box):
    box.put("python3.13", 'echo "pyenv: python3.13: command not found" >&2; exit 127')
    box.put("python3.12", "exit 1")
    box.put("python3.11", "exit 127")
    behind = box.folder / "behind"
    behind.mkdir()
    working = box.put_python("python3.11", (3, 11, 2), folder=behind)
    answer = box.run(FIND_PYTHON, PATH=f"{box.bin}:{behind}")
    assert (answer.returncode, answer.stdout.strip(), answer.stderr) == (0, str(working), "")


@posix
@pytest.mark.parametrize("lacks", ["ensurepip", "venv", "ssl"])
def test_an_interpreter_without_venv_is_passed_over(box, lacks):
    box.put_python("python3.13", (3, 13, 0), lacks=[lacks])
    complete = box.put_python("python3.11", (3, 11, 2))
    assert box.run(FIND_PYTHON).stdout.strip() == str(complete)


@posix
def test_when_only_an_interpreter_without_venv_is_there_the_package_is_named(box):
    path = box.put_python("python3", (3, 11, 2), lacks=["ensurepip"])
    answer = box.run(FIND_PYTHON)
    assert (answer.returncode, answer.stdout.strip()) == (3, "python3.11-venv")
    assert len(answer.stderr.splitlines()) == 1
    assert str(path) in answer.stderr and "apt-get install python3.11-venv" in answer.stderr


@posix
def test_with_no_fitting_interpreter_one_sentence_says_why_and_what_to_do(box):
    box.put_python("python3", (3, 10, 13))
    box.put_python("python3.14", (3, 14, 0))
    box.put("python3.12", "exit 127")
    answer = box.run(FIND_PYTHON)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert len(answer.stderr.splitlines()) == 1
    for part in ("3.14 has no Taichi wheel", "3.10 no current imgui-bundle", "found only 3.10"):
        assert part in answer.stderr


@posix
def test_with_no_interpreter_at_all_one_sentence_says_so(box):
    answer = box.run(FIND_PYTHON)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "none was found in PATH" in answer.stderr and len(answer.stderr.splitlines()) == 1


@posix
def test_the_variable_python_narrows_the_search(box):
    box.put_python("python3.13", (3, 13, 0))
    chosen = box.put_python("mine", (3, 11, 0))
    assert box.run(FIND_PYTHON, PYTHON="mine").stdout.strip() == str(chosen)
    old = box.put_python("old", (3, 9, 0))
    answer = box.run(FIND_PYTHON, PYTHON=str(old))
    assert answer.returncode == 1 and f"PYTHON={old}" in answer.stderr


# ---------------------------------------------------------------- system_packages.sh

SYSTEM_PACKAGES = ROOT / "packaging" / "system_packages.sh"
LIBRARY_TABLE = [
    line.split(maxsplit=2)
    for line in (ROOT / "assets" / "system_libraries.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
]


def put_system(box, *, absent=(), uid=0, knows=True, apt=0):
    """A Debian with every library but some, and an apt-get that logs and ends with a status."""
    sonames = {name for row in LIBRARY_TABLE for name in row[0].split("|")} | {"libvulkan_lvp.so"}
    lines = [
        f"\t{name} (libc6,x86-64) => /lib/{name}" for name in sorted(sonames - set(absent))
    ] + [f"\t{name} (libc6) => /lib32/{name}" for name in absent]
    listing = box.folder / "listing"
    listing.write_text("\n".join(["9 libs found in cache", *lines, ""]))
    box.put("ldconfig", f'cat "{listing}"')
    box.put("id", f"echo {uid}")
    box.put("apt-cache", f"exit {0 if knows else 100}")
    box.put("apt-get", f'echo "$DEBIAN_FRONTEND $*" >> "{box.log}"\nexit {apt}')
    for tool in ("Xvfb", "xdotool"):
        if tool not in absent:
            box.put(tool, "exit 0")


@linux_x86
@pytest.mark.parametrize("goal", ["run", "test"])
def test_nothing_missing_is_quick_and_calls_nothing(box, goal):
    put_system(box)
    began = time.perf_counter()
    answer = box.run(SYSTEM_PACKAGES, goal)
    assert time.perf_counter() - began < 1.0
    assert (answer.returncode, answer.stdout, answer.stderr, box.logged()) == (0, "", "", [])


@linux_x86
def test_root_on_debian_installs_what_is_missing_and_no_more(box):
    put_system(box, absent=["libEGL.so.1", "libX11.so.6"])
    answer = box.run(SYSTEM_PACKAGES, "run")
    assert answer.returncode == 0 and answer.stderr == ""
    [call] = box.logged()
    assert call.startswith("noninteractive install -y")
    assert call.endswith(" libx11-6 libegl1")


@linux_x86
def test_either_of_two_drivers_serves_for_running_but_the_tests_need_mesa(box):
    put_system(box, absent=["libGLX_mesa.so.0", "libEGL_mesa.so.0"])
    box.run(SYSTEM_PACKAGES, "run")
    assert box.logged() == []
    box.run(SYSTEM_PACKAGES, "test")
    assert box.logged()[0].endswith(" libglx-mesa0 libegl-mesa0")


@linux_x86
def test_tests_bring_a_virtual_screen_and_software_vulkan(box):
    put_system(box, absent=["Xvfb", "xdotool", "libvulkan_lvp.so"])
    box.run(SYSTEM_PACKAGES, "run")
    assert box.logged() == []
    box.run(SYSTEM_PACKAGES, "test")
    assert box.logged()[0].endswith(" mesa-vulkan-drivers xvfb xdotool")


@linux_x86
def test_empty_package_lists_are_updated_first(box):
    put_system(box, absent=["libGL.so.1"], knows=False)
    box.run(SYSTEM_PACKAGES, "run")
    assert [call.split()[1] for call in box.logged()] == ["update", "install"]


@linux_x86
def test_an_install_that_fails_is_tried_once_more_with_new_lists_then_named(box):
    put_system(box, absent=["libGL.so.1"], apt=100)
    box.put("apt-get", f'echo "x $*" >> "{box.log}"\ncase "$*" in *update*) ;; *) exit 100 ;; esac')
    answer = box.run(SYSTEM_PACKAGES, "run")
    assert [call.split()[1] for call in box.logged()] == ["install", "update", "install"]
    assert answer.returncode == 0
    assert "libGL.so.1 (sudo apt-get install libgl1)" in answer.stderr


@linux_x86
def test_an_ordinary_user_gets_one_sentence_and_goes_on(box):
    put_system(box, absent=["libGL.so.1", "libXi.so.6"], uid=1000)
    answer = box.run(SYSTEM_PACKAGES, "run")
    assert (answer.returncode, answer.stdout, box.logged()) == (0, "", [])
    [sentence] = answer.stderr.splitlines()
    assert "libXi.so.6, libGL.so.1 (sudo apt-get install libxi6 libgl1)" in sentence


@linux_x86
def test_another_distribution_gets_the_names_of_the_libraries(box):
    put_system(box, absent=["libGL.so.1"])
    (box.bin / "apt-get").unlink()
    answer = box.run(SYSTEM_PACKAGES, "run")
    assert answer.returncode == 0
    assert "libGL.so.1 (install the packages that bring them)" in answer.stderr


@linux_x86
def test_a_system_that_cannot_be_asked_is_not_accused(box):
    put_system(box, absent=["libGL.so.1"])
    box.put("ldconfig", "exit 1")
    answer = box.run(SYSTEM_PACKAGES, "run")
    assert (answer.returncode, answer.stderr, box.logged()) == (0, "", [])


def test_every_line_of_the_library_table_has_a_package_and_a_reason():
    assert LIBRARY_TABLE and all(len(row) == 3 for row in LIBRARY_TABLE)


# ---------------------------------------------------------------- set_up.sh


@pytest.fixture
def checkout(box):
    """A checkout with the real scripts on a complete system without Python."""
    put_system(box)
    folder = box.folder / "checkout"
    shutil.copytree(ROOT / "packaging", folder / "packaging")
    (folder / "assets").mkdir()
    shutil.copy(ROOT / "assets" / "system_libraries.txt", folder / "assets")
    (folder / "pyproject.toml").write_text("[project]\n")
    box.put("inner", f'case "$*" in *pip*install*) echo "$*" >> "{box.log}" ;; esac')
    return folder


def make_environment(box, kind):
    """Shell code that makes an environment whose python only logs what pip is asked to install."""
    return f"""
        for folder in "$@"; do :; done
        echo "{kind} $folder" >> "{box.log}"
        mkdir -p "$folder/bin" && cp "{box.bin}/inner" "$folder/bin/python"
        exit 0"""


def put_python_with_venv(box):
    first = f'if [ "$2" = venv ]; then {make_environment(box, "venv")}; fi'
    return box.put_python("python3.12", (3, 12, 0), first=first)


def set_up(box, folder, goal, **environment):
    return box.run(folder / "packaging" / "set_up.sh", goal, cwd="/", **environment)


INSTALL = "-m pip install --quiet --disable-pip-version-check -e"


@linux_x86
def test_set_up_works_once_and_then_rests(box, checkout):
    put_python_with_venv(box)
    first = set_up(box, checkout, "run")
    assert first.returncode == 0, first.stderr
    assert box.logged() == ["venv .venv", f"{INSTALL} ."]
    second = set_up(box, checkout, "run")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert len(box.logged()) == 2


@linux_x86
def test_the_tests_need_more_than_a_run_and_a_run_no_more_than_the_tests(box, checkout):
    put_python_with_venv(box)
    set_up(box, checkout, "run")
    set_up(box, checkout, "test")
    set_up(box, checkout, "run")
    assert box.logged() == ["venv .venv", f"{INSTALL} .", f"{INSTALL} .[dev]"]


@linux_x86
def test_a_new_pyproject_is_installed_into_the_same_environment(box, checkout):
    put_python_with_venv(box)
    set_up(box, checkout, "run")
    (checkout / "pyproject.toml").write_text("[project]\nname = 'matterbox'\n")
    set_up(box, checkout, "run")
    assert box.logged() == ["venv .venv", f"{INSTALL} .", f"{INSTALL} ."]


@linux_x86
def test_an_environment_that_was_moved_or_broken_is_replaced(box, checkout):
    put_python_with_venv(box)
    set_up(box, checkout, "run")
    moved = checkout.rename(box.folder / "elsewhere")
    assert "Replacing .venv" in set_up(box, moved, "run").stdout
    (moved / ".venv" / "bin" / "python").write_text("#!/nowhere/python\n")
    assert "Replacing .venv" in set_up(box, moved, "run").stdout
    assert box.logged() == ["venv .venv", f"{INSTALL} ."] * 3


@linux_x86
def test_an_install_that_fails_is_tried_again_next_time(box, checkout):
    put_python_with_venv(box)
    box.put("inner", 'case "$*" in *pip*install*) echo "no network" >&2; exit 1 ;; esac')
    answer = set_up(box, checkout, "run")
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[0] == "no network" and len(answer.stderr.splitlines()) == 2
    shutil.rmtree(checkout / ".venv")
    box.put("inner", f'case "$*" in *pip*install*) echo "$*" >> "{box.log}" ;; esac')
    assert set_up(box, checkout, "run").returncode == 0


@linux_x86
def test_without_an_interpreter_uv_brings_one(box, checkout):
    uv = make_environment(box, "uv")
    box.put("uv", f'if [ "$1" = venv ]; then {uv}; fi\necho "uv $*" >> "{box.log}"')
    box.put("inner", 'case "$*" in *pip*) exit 1 ;; esac')
    answer = set_up(box, checkout, "test")
    assert answer.returncode == 0, answer.stderr
    assert box.logged() == [
        "uv .venv",
        "uv pip install --quiet --python .venv/bin/python -e .[dev]",
    ]


@linux_x86
def test_without_interpreter_and_uv_one_sentence_and_no_environment(box, checkout):
    answer = set_up(box, checkout, "run")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert len(answer.stderr.splitlines()) == 1 and "install uv" in answer.stderr
    assert not (checkout / ".venv").exists()


@linux_x86
def test_root_on_debian_gets_the_missing_venv_module(box, checkout):
    """Debian's python3 lacks ensurepip until python3.x-venv is there."""
    box.put_python("python3", (3, 11, 2), lacks=["ensurepip"])
    first = f'if [ "$2" = venv ]; then {make_environment(box, "venv")}; fi'
    box.put_python("complete", (3, 11, 2), first=first)
    box.put(
        "apt-get",
        f'echo "apt $*" >> "{box.log}"; mv "{box.bin}/complete" "{box.bin}/python3.11"',
    )
    # the stand-in names itself by the path it was made with
    script = box.bin / "complete"
    script.write_text(script.read_text().replace(str(script), str(box.bin / "python3.11")))
    answer = set_up(box, checkout, "run")
    assert answer.returncode == 0, answer.stderr
    assert box.logged()[0].endswith(" python3.11-venv")
    assert box.logged()[1:] == ["venv .venv", f"{INSTALL} ."]


@posix
def test_a_machine_without_a_taichi_wheel_is_told_so(box, checkout):
    (box.bin / "uname").unlink()
    box.put("uname", 'case "$1" in -s) echo Linux ;; *) echo aarch64 ;; esac')
    answer = set_up(box, checkout, "run")
    assert answer.returncode == 1
    assert answer.stderr.startswith("Matterbox cannot run on Linux aarch64: Taichi has wheels for")


# ---------------------------------------------------------------- the package


def python(code, *, cwd, path):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=dict(os.environ) | {"PYTHONPATH": str(path)},
        timeout=60,
    )


def test_importing_the_package_loads_nothing_heavy(tmp_path):
    answer = python(
        "import sys, app; assert app.__version__; "
        "print(sorted({'taichi', 'pyglet', 'numpy', 'imgui_bundle', 'pydantic'} & {*sys.modules}))",
        cwd=tmp_path,
        path=ROOT,
    )
    assert answer.stdout.strip() == "[]", answer.stderr


def test_the_public_names_are_there_on_first_use(tmp_path):
    answer = python(
        "import sys; from app import Scene, Simulation; "
        "print(Scene.__name__, Simulation.__name__, 'pyglet' in sys.modules)",
        cwd=tmp_path,
        path=ROOT,
    )
    assert answer.stdout.split() == ["Scene", "Simulation", "False"], answer.stderr


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    import app

    with pytest.raises(AttributeError, match="no attribute 'Simulatoin'"):
        app.Simulatoin  # noqa: B018


def test_the_wheel_carries_the_code_the_assets_and_the_scenes(tmp_path):
    pytest.importorskip("hatchling", reason="the extra `dev` brings hatchling")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    [wheel] = tmp_path.glob("matterbox-*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for folder in ("assets", "scenes"):
        ours = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
        assert ours
        for path in ours:
            assert (site / "app" / "_data" / path.relative_to(ROOT)).is_file(), path
    assert not (site / "tests").exists()
    # a stranger's folder of the same name in site-packages must not be taken for ours
    (site / "assets").mkdir()
    answer = python(
        "from app import paths; print(paths.assets_dir(), paths.scenes_dir())",
        cwd=tmp_path,
        path=site,
    )
    inside = site / "app" / "_data"
    assert answer.stdout.split() == [str(inside / "assets"), str(inside / "scenes")], answer.stderr


def test_a_checkout_uses_its_own_folders():
    from app import paths

    assert paths.assets_dir() == ROOT / "assets"
    assert paths.scenes_dir() == ROOT / "scenes"


def test_the_project_says_which_pythons_it_runs_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.14"
    assert project["scripts"]["matterbox"] == "app.cli:main"
