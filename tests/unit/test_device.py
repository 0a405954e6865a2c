"""Contract of app.sim.device.

Looking for devices starts nothing. An arch that was asked for runs, or one sentence says what is
missing and what is there; nothing falls back in silence. Stdout stays clean. No state of the
folder of compiled kernels, and nothing in the environment, ends in a crash.
"""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from app.sim import device

COMPUTE = """
import taichi as ti
field = ti.field(ti.i32, 100)
field.fill(3)
assert field.to_numpy().sum() == 300
"""

START_AND_COMPUTE = f"""
from app.sim import device
device.start("cpu")
{COMPUTE}
"""


def run(*code, **environment):
    """Run pieces of code in a process of their own; None removes a variable."""
    merged = dict(os.environ) | environment
    merged = {name: value for name, value in merged.items() if value is not None}
    return subprocess.run(
        [sys.executable, "-c", "\n".join(map(textwrap.dedent, code))],
        capture_output=True,
        text=True,
        env=merged,
        timeout=120,
    )


def test_looking_imports_neither_taichi_nor_numpy():
    answer = run("""
        import sys
        from app.sim import device
        infos = device.available()
        assert [info.arch for info in infos] == list(device.ARCHS)
        assert "taichi" not in sys.modules and "numpy" not in sys.modules
        assert device.started() is None
    """)
    assert answer.returncode == 0, answer.stderr


def test_every_arch_says_why_it_does_not_start_or_names_its_device():
    for info in device.available():
        assert info.note if info.starts is False else info.name
    assert next(info for info in device.available() if info.arch == "cpu").starts is not False


def test_cpu_starts_with_a_clean_stdout_and_stderr(tmp_path):
    answer = run(
        """
        from app.sim import device
        info = device.start("cpu", threads=1)
        assert info == device.started() and info.arch == "cpu" and info.starts is True
        """,
        COMPUTE,
        "device.reset(); assert device.started() is None",
        TI_OFFLINE_CACHE_FILE_PATH=str(tmp_path),
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def test_starting_again_with_the_same_wish_keeps_the_fields():
    answer = run("""
        from app.sim import device
        first = device.start("cpu")
        import taichi as ti
        field = ti.field(ti.i32, ())
        field[None] = 5
        assert device.start("cpu") is first
        assert field[None] == 5
        assert device.start("cpu", threads=1) is not first
    """)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.vulkan
def test_vulkan_runs_when_asked_for():
    answer = run(
        """
        from app.sim import device
        info = device.start("vulkan")
        assert info.arch == "vulkan" and info.name
        """,
        COMPUTE,
    )
    assert (answer.returncode, answer.stdout) == (0, ""), answer.stderr


@pytest.mark.cuda
@pytest.mark.parametrize("arch", ["cuda", "auto"])
def test_cuda_runs_when_asked_for_and_by_itself(arch):
    answer = run(
        f"""
        from app.sim import device
        info = device.start({arch!r}, device_memory_GB=1.0)
        assert info.arch == "cuda" and info.name
        """,
        COMPUTE,
    )
    assert (answer.returncode, answer.stdout) == (0, ""), answer.stderr


def test_auto_never_takes_a_software_driver():
    answer = run("""
        from app.sim import device
        device._ASK["cuda"] = lambda: device.DeviceInfo("cuda", "", "gpu", False, "none")
        device._ASK["metal"] = lambda: device.DeviceInfo("metal", "", "gpu", False, "none")
        device._ASK["vulkan"] = lambda: device.DeviceInfo("vulkan", "soft", "software", None)
        assert device.start().arch == "cpu"
    """)
    assert answer.returncode == 0, answer.stderr


def test_auto_says_what_looked_usable_and_failed():
    answer = run(
        """
        from app.sim import device
        device._ASK["cuda"] = lambda: device.DeviceInfo("cuda", "Phantom", "gpu", None)
        device._ASK["metal"] = lambda: device.DeviceInfo("metal", "", "gpu", False, "none")
        device._ASK["vulkan"] = lambda: device.DeviceInfo("vulkan", "", "gpu", False, "none")
        info = device.start()
        assert info.arch == "cpu" and "cuda looked usable but did not start" in info.note, info
    """,
        TI_ENABLE_CUDA="0",
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("arch", device.ARCHS)
def test_an_arch_that_is_missing_is_one_sentence(arch, monkeypatch):
    gone = device.DeviceInfo(arch, "", "gpu", False, "its driver is on holiday")
    monkeypatch.setitem(device._ASK, arch, lambda: gone)
    monkeypatch.setattr(device, "_running", None)  # another test may have started this arch
    with pytest.raises(device.DeviceError) as caught:
        device.start(arch)
    text = str(caught.value)
    assert text.startswith(f"arch {arch} does not start: its driver is on holiday; available here")
    assert "\n" not in text


def test_an_unknown_arch_names_the_nearest():
    with pytest.raises(
        device.DeviceError, match=r"unknown arch 'Vulcan' \(did you mean vulkan\?\)"
    ):
        device.start("Vulcan")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libvulkan is Linux's")
@pytest.mark.vulkan
def test_a_vulkan_loader_without_a_driver_is_told_apart_from_a_missing_loader(tmp_path):
    answer = run(
        "from app.sim import device; print(device._vulkan().note)",
        VK_ICD_FILENAMES=str(tmp_path / "none.json"),
        VK_DRIVER_FILES=str(tmp_path / "none.json"),
    )
    assert "finds no driver" in answer.stdout


def test_the_best_vulkan_device_is_a_discrete_gpu_and_never_the_first_by_chance():
    integrated, discrete, virtual, processor = (1, 2, 3, 4)
    devices = [("soft", processor), ("vm", virtual), ("laptop", integrated), ("card", discrete)]
    while devices:
        assert device._best_vulkan(devices) == len(devices) - 1
        devices.pop()
        if not devices:
            break
        assert device._best_vulkan(devices[::-1]) == 0


def test_taichi_variables_cannot_change_the_arch():
    answer = run(
        """
        import os
        from app.sim import device
        assert device.start("cpu").arch == "cpu"
        import taichi as ti
        assert ti.lang.impl.current_cfg().arch == ti.cpu
        assert os.environ["TI_ARCH"] == "vulkan"
        """,
        TI_ARCH="vulkan",
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.skipif(os.name != "posix", reason="HOME is POSIX")
def test_a_missing_home_is_no_abort():
    answer = run(START_AND_COMPUTE, HOME=None)
    assert answer.returncode == 0, answer.stderr


def _is_sealed(folder):
    seal = json.loads((folder / "seal.json").read_text())
    files = {path.name for path in folder.iterdir()} - {"seal.json"}
    return files and set(seal) == files


def test_kernels_are_kept_and_sealed(tmp_path):
    first = run(START_AND_COMPUTE, TI_OFFLINE_CACHE_FILE_PATH=str(tmp_path))
    assert first.returncode == 0 and _is_sealed(tmp_path), first.stderr


@pytest.mark.parametrize("damage", ["flipped", "truncated", "emptied", "deleted", "seal too"])
def test_damaged_kernels_are_compiled_again(tmp_path, damage):
    run(START_AND_COMPUTE, TI_OFFLINE_CACHE_FILE_PATH=str(tmp_path))
    for path in list(tmp_path.iterdir()):
        if path.name == "seal.json" and damage != "seal too":
            continue
        content = path.read_bytes()
        if damage == "deleted":
            path.unlink()
        elif damage == "truncated":
            path.write_bytes(content[: len(content) // 2])
        elif damage == "emptied":
            path.write_bytes(b"")
        else:
            path.write_bytes(bytes(byte ^ 0xFF for byte in content))
    answer = run(START_AND_COMPUTE, TI_OFFLINE_CACHE_FILE_PATH=str(tmp_path))
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    assert _is_sealed(tmp_path)


def test_other_files_in_the_folder_are_left_alone(tmp_path):
    """Caught: a cache folder that held recordings, too, was emptied of them."""
    names = ["session.mbr", "notes", "seal.json.part", "metadata.txt"]
    for name in names:
        (tmp_path / name).write_text(name)
    (tmp_path / "unsealed.tic").write_text("no kernel")
    device._mend(tmp_path)
    device._seal(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "seal.json"])
    assert all((tmp_path / name).read_text() == name for name in names)


def test_the_lock_of_a_killed_process_is_removed_but_not_that_of_a_running_one(tmp_path):
    lock = tmp_path / "ticache.lock"
    lock.touch()
    device._mend(tmp_path)
    assert lock.exists()
    os.utime(lock, (0, 0))
    device._mend(tmp_path)
    assert not lock.exists()


@pytest.mark.parametrize("folder", ["a file", "below a file"])
def test_a_cache_folder_that_cannot_be_is_replaced_by_a_temporary_one(tmp_path, folder):
    blocker = tmp_path / "blocker"
    blocker.write_text("not a folder")
    chosen = blocker if folder == "a file" else blocker / "kernels"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    answer = run(START_AND_COMPUTE, TI_OFFLINE_CACHE_FILE_PATH=str(chosen), TMPDIR=str(temporary))
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    assert not list(temporary.iterdir()), "the temporary folder outlives the process"


def test_a_cache_folder_that_vanishes_is_no_crash(tmp_path):
    folder = tmp_path / "kernels"
    answer = run(
        START_AND_COMPUTE + f"import shutil; shutil.rmtree({str(folder)!r})",
        TI_OFFLINE_CACHE_FILE_PATH=str(folder),
    )
    assert answer.returncode == 0, answer.stderr
