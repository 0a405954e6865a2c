"""Which devices can simulate, and the one place that starts Taichi.

`available()` asks the drivers themselves, through their C interfaces, so that looking costs no
Taichi runtime and a driver's own words reach the user. `start()` never falls back in silence: an
arch that was asked for either runs or is named in a `DeviceError`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import hashlib
import importlib.util
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from app import paths
from app.errors import DeviceError

ARCHS = ("cuda", "metal", "vulkan", "cpu")
"""Every arch, best first: `auto` takes the first that starts, software drivers left out."""


@dataclass(frozen=True)
class DeviceInfo:
    """One arch and the device behind it.

    `name` is the driver's own name of the device, empty when there is none. `starts` is True for
    the runtime that is running, False when it is known not to start (`note` says why), and None
    when everything looks right but nobody has tried.
    """

    arch: str
    name: str
    kind: Literal["gpu", "software", "cpu"]
    starts: bool | None
    note: str = ""


# ---------------------------------------------------------------- asking the drivers


def _load(*names: str) -> ctypes.CDLL | None:
    for name in names:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None


def _cuda() -> DeviceInfo:
    def no(note: str, name: str = "") -> DeviceInfo:
        return DeviceInfo("cuda", name, "gpu", False, note)

    if sys.platform == "darwin":
        return no("there is no CUDA on macOS")
    if os.environ.get("TI_ENABLE_CUDA") == "0":
        return no("switched off by TI_ENABLE_CUDA=0")
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so"
    driver = _load(library)
    if driver is None:
        if sys.platform != "win32" and _load("libcuda.so.1") is not None:
            return no(
                "the NVIDIA driver is installed as libcuda.so.1 only and Taichi looks for "
                "libcuda.so: add a link of that name beside it"
            )
        return no(f"no NVIDIA driver ({library} not found)")

    def failed(call: str, code: int) -> DeviceInfo:
        text = ctypes.c_char_p()
        if driver.cuGetErrorString(code, ctypes.byref(text)) != 0 or text.value is None:
            return no(f"the NVIDIA driver's {call} failed with error {code}")
        return no(f"the NVIDIA driver says: {text.value.decode(errors='replace')} (error {code})")

    if code := driver.cuInit(0):
        return failed("cuInit", code)
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    if version.value < 10000:
        return no(f"the NVIDIA driver knows CUDA {version.value // 1000} only, Taichi needs 10")
    count = ctypes.c_int()
    if code := driver.cuDeviceGetCount(ctypes.byref(count)):
        return failed("cuDeviceGetCount", code)
    if count.value == 0:
        return no("the NVIDIA driver is there but shows no device")
    device = ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    if code := driver.cuDeviceGet(ctypes.byref(device), 0):
        return failed("cuDeviceGet", code)
    if code := driver.cuDeviceGetName(name, len(name), device):
        return failed("cuDeviceGetName", code)
    others = f"the first of {count.value} NVIDIA devices" if count.value > 1 else ""
    return DeviceInfo("cuda", name.value.decode(errors="replace"), "gpu", None, others)


def _metal() -> DeviceInfo:
    if sys.platform != "darwin":
        return DeviceInfo("metal", "", "gpu", False, "Metal is macOS only")
    if platform.machine() != "arm64":
        return DeviceInfo("metal", "", "gpu", False, "Metal needs Apple silicon")
    return DeviceInfo("metal", _processor_name(), "gpu", None)


class _ApplicationInfo(ctypes.Structure):
    _fields_ = [
        ("sType", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("pApplicationName", ctypes.c_char_p),
        ("applicationVersion", ctypes.c_uint32),
        ("pEngineName", ctypes.c_char_p),
        ("engineVersion", ctypes.c_uint32),
        ("apiVersion", ctypes.c_uint32),
    ]


class _InstanceCreateInfo(ctypes.Structure):
    _fields_ = [
        ("sType", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("pApplicationInfo", ctypes.POINTER(_ApplicationInfo)),
        ("enabledLayerCount", ctypes.c_uint32),
        ("ppEnabledLayerNames", ctypes.c_void_p),
        ("enabledExtensionCount", ctypes.c_uint32),
        ("ppEnabledExtensionNames", ctypes.c_void_p),
    ]


class _DeviceProperties(ctypes.Structure):
    """The head of VkPhysicalDeviceProperties; the padding holds the limits that follow."""

    _fields_ = [
        ("apiVersion", ctypes.c_uint32),
        ("driverVersion", ctypes.c_uint32),
        ("vendorID", ctypes.c_uint32),
        ("deviceID", ctypes.c_uint32),
        ("deviceType", ctypes.c_uint32),
        ("deviceName", ctypes.c_char * 256),
        ("rest", ctypes.c_char * 4096),
    ]


# VkPhysicalDeviceType, best first: discrete, integrated, virtual, other, CPU.
_VULKAN_TYPES_BEST_FIRST = (2, 1, 3, 0, 4)
_VULKAN_CPU = 4


def _vulkan_library() -> ctypes.CDLL | None:
    if sys.platform == "win32":
        return _load("vulkan-1.dll")
    if sys.platform != "darwin":
        return _load("libvulkan.so.1", "libvulkan.so")
    # On macOS Taichi brings its own; finding a package does not import it.
    spec = importlib.util.find_spec("taichi")
    if spec is None or not spec.submodule_search_locations:
        return None
    return _load(str(Path(spec.submodule_search_locations[0], "_lib/runtime/libMoltenVK.dylib")))


def _vulkan_devices() -> list[tuple[str, int]]:
    """(name, VkPhysicalDeviceType) of every Vulkan device, in the driver's order.

    Raises DeviceError with the reason when there is none.
    """
    vulkan = _vulkan_library()
    if vulkan is None:
        raise DeviceError("no Vulkan loader (libvulkan.so.1 or vulkan-1.dll not found)")
    application = _ApplicationInfo(sType=0, pApplicationName=b"matterbox", apiVersion=1 << 22)
    request = _InstanceCreateInfo(sType=1, pApplicationInfo=ctypes.pointer(application))
    instance = ctypes.c_void_p()
    if code := vulkan.vkCreateInstance(ctypes.byref(request), None, ctypes.byref(instance)):
        raise DeviceError(f"the Vulkan loader is there but finds no driver (VkResult {code})")
    try:
        count = ctypes.c_uint32()
        code = vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)
        if code or count.value == 0:
            raise DeviceError("the Vulkan loader is there but no driver shows a device")
        handles = (ctypes.c_void_p * count.value)()
        vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), handles)
        found = []
        for handle in handles[: count.value]:
            properties = _DeviceProperties()
            vulkan.vkGetPhysicalDeviceProperties(ctypes.c_void_p(handle), ctypes.byref(properties))
            name = properties.deviceName.decode(errors="replace")
            found.append((name, properties.deviceType))
        return found
    finally:
        vulkan.vkDestroyInstance(instance, None)


def _best_vulkan(devices: list[tuple[str, int]]) -> int:
    def rank(index: int) -> int:
        kind = devices[index][1]
        known = kind in _VULKAN_TYPES_BEST_FIRST
        return _VULKAN_TYPES_BEST_FIRST.index(kind) if known else len(_VULKAN_TYPES_BEST_FIRST)

    return min(range(len(devices)), key=rank)


def _vulkan() -> DeviceInfo:
    try:
        devices = _vulkan_devices()
    except DeviceError as error:
        return DeviceInfo("vulkan", "", "gpu", False, str(error))
    name, kind = devices[_best_vulkan(devices)]
    notes = ["a software driver on the processor: correct, but slow"] if kind == _VULKAN_CPU else []
    if len(devices) > 1:
        notes.append(f"the best of {len(devices)} Vulkan devices")
    return DeviceInfo(
        "vulkan", name, "software" if kind == _VULKAN_CPU else "gpu", None, "; ".join(notes)
    )


def _processor_name() -> str:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if sys.platform == "darwin":
            command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            answer = subprocess.run(command, capture_output=True, text=True, timeout=5)
            if answer.stdout.strip():
                return answer.stdout.strip()
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine() or "processor"


def _cpu() -> DeviceInfo:
    cores = os.cpu_count() or 1
    return DeviceInfo("cpu", _processor_name(), "cpu", None, f"{cores} core{'s' * (cores > 1)}")


_ASK: dict[str, Callable[[], DeviceInfo]] = {
    "cuda": _cuda,
    "metal": _metal,
    "vulkan": _vulkan,
    "cpu": _cpu,
}


def available() -> list[DeviceInfo]:
    """Every arch in the order of `ARCHS`, whether or not it can start here; starts nothing."""
    found = []
    for arch in ARCHS:
        info = _running if _running is not None and _running.arch == arch else _ASK[arch]()
        found.append(info)
    return found


# ---------------------------------------------------------------- compiled kernels on disk

_SEAL = "seal.json"
_LOCK = "ticache.lock"
_KERNEL_SUFFIXES = (".tic", ".tcb")
_STALE_LOCK_AGE = 60.0  # seconds; Taichi holds its lock for the time of writing a few files

_temporary_cache: Path | None = None


def _files(folder: Path) -> Iterator[Path]:
    """What Taichi keeps in a folder; anything else there is somebody else's, and left alone."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in _KERNEL_SUFFIXES:
            yield path


def _checksum(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def _mend(folder: Path) -> None:
    """Make the folder one that Taichi can use, or raise OSError.

    Taichi takes compiled kernels as they are: a damaged file crashes the process. So the checksum
    of every file is kept in a seal, and a file that does not fit its seal is dropped, which costs
    a compilation. The lock of a process that was killed would switch the cache off forever.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass  # a folder may exist and yet not be writable
    with contextlib.suppress(FileNotFoundError):
        lock = folder / _LOCK
        if time.time() - lock.stat().st_mtime > _STALE_LOCK_AGE:
            lock.unlink()
    try:
        sealed = json.loads((folder / _SEAL).read_text())
        sealed = sealed if isinstance(sealed, dict) else {}
    except (OSError, ValueError):
        sealed = {}
    for path in _files(folder):
        with contextlib.suppress(FileNotFoundError):  # another process may tidy up beside us
            if sealed.get(path.name) != _checksum(path):
                path.unlink()


def _seal(folder: Path) -> None:
    with contextlib.suppress(OSError):
        sums = {path.name: _checksum(path) for path in _files(folder)}
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, suffix=".part", delete=False
        ) as temporary:
            json.dump(sums, temporary)
        os.replace(temporary.name, folder / _SEAL)


def _cache_folder() -> Path:
    """A usable folder for compiled kernels: the user's own, else one that lasts as long as we do.

    Raises DeviceError when neither can be written.
    """
    global _temporary_cache
    chosen = os.environ.get("TI_OFFLINE_CACHE_FILE_PATH")
    folder = Path(chosen) if chosen else paths.cache_dir() / "kernels"
    try:
        _mend(folder)
        return folder
    except OSError as error:
        reason = error
    if _temporary_cache is None or not _temporary_cache.is_dir():
        try:
            _temporary_cache = Path(tempfile.mkdtemp(prefix="matterbox-kernels-"))
        except OSError:
            raise DeviceError(
                f"no folder to keep compiled kernels in: {folder} cannot be used "
                f"({reason.strerror or reason}), and neither can a temporary folder"
            ) from None
    return _temporary_cache


# ---------------------------------------------------------------- starting Taichi

_running: DeviceInfo | None = None
_running_options: tuple[int | None, float | None] = (None, None)
_running_cache: Path | None = None


def start(
    arch: str = "auto", *, threads: int | None = None, device_memory_GB: float | None = None
) -> DeviceInfo:
    """Start Taichi on `arch` ("auto", or one of `ARCHS`) and say what it runs on.

    "auto" takes CUDA, else Metal, else Vulkan on real hardware, else the CPU: the first that
    starts. A software Vulkan driver runs only when "vulkan" is asked for. `threads` bounds the
    CPU's worker threads, `device_memory_GB` [GB] is what CUDA sets aside for fields.

    When the runtime already runs on that arch with the same options it is left as it is, fields
    and all; otherwise every field of an earlier runtime is void after this call.

    Raises DeviceError when the arch is unknown or does not start.
    """
    options = (threads, device_memory_GB)
    if arch != "auto" and arch not in ARCHS:
        near = get_close_matches(arch.lower(), ("auto", *ARCHS), 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise DeviceError(f"unknown arch {arch!r}{hint}: expected auto, {', '.join(ARCHS)}")

    disappointments = []
    for candidate in ARCHS if arch == "auto" else (arch,):
        if _running is not None and (_running.arch, _running_options) == (candidate, options):
            return _running
        info = _ASK[candidate]()
        if arch == "auto" and info.kind == "software":
            continue
        reason = info.note if info.starts is False else _start(info, options)
        if reason is None:
            if disappointments:
                _annotate("; ".join(disappointments))
            assert _running is not None
            return _running
        if arch != "auto":
            raise DeviceError(f"arch {arch} does not start: {reason}; {_alternatives(arch)}")
        if info.starts is None:
            disappointments.append(f"{candidate} looked usable but did not start: {reason}")
    raise DeviceError("no arch starts: " + "; ".join(disappointments))


def _alternatives(arch: str) -> str:
    usable = [info for info in available() if info.arch != arch and info.starts is not False]
    if not usable:
        return "nothing else would start here"
    return "available here: " + ", ".join(f"{info.arch} ({info.name})" for info in usable)


def _annotate(note: str) -> None:
    global _running
    assert _running is not None
    _running = replace(_running, note="; ".join(filter(None, (_running.note, note))))


def _start(info: DeviceInfo, options: tuple[int | None, float | None]) -> str | None:
    """Start Taichi on a device that looked usable; None, or the reason why it does not start."""
    global _running, _running_options, _running_cache
    reset()
    cache = _cache_folder()
    try:
        with _taichi_environment(info):
            _initialise(info.arch, options, cache)
    except Exception as error:
        return " ".join(str(error).split()) or type(error).__name__
    _running, _running_options, _running_cache = replace(info, starts=True), options, cache
    return None


@contextlib.contextmanager
def _taichi_environment(info: DeviceInfo) -> Iterator[None]:
    """Environment variables of Taichi under which what was asked for is what runs."""
    # TI_ARCH would override the arch asked for.
    changes: dict[str, str | None] = {"TI_ARCH": None}
    if info.arch == "vulkan" and not os.environ.get("TI_VISIBLE_DEVICE"):
        # With several devices Taichi ranks them in a way of its own, which can prefer a software
        # driver to a virtual GPU: name the one that we chose.
        devices = _vulkan_devices()
        if len(devices) > 1:
            changes["TI_VISIBLE_DEVICE"] = str(_best_vulkan(devices))
    before = {name: os.environ.get(name) for name in changes}
    _set_environment(changes)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _initialise(arch: str, options: tuple[int | None, float | None], cache: Path) -> None:
    import taichi as ti

    atexit.unregister(_at_exit)  # one entry, and later than any that Taichi registers
    atexit.register(_at_exit)
    threads, device_memory_GB = options
    extra: dict[str, Any] = {}
    if threads is not None:
        extra["cpu_max_num_threads"] = threads
    if device_memory_GB is not None and arch == "cuda":
        extra["device_memory_GB"] = device_memory_GB
    wanted = getattr(ti, arch)
    # Taichi announces each start on stdout, which belongs to the commands' own output.
    with contextlib.redirect_stdout(io.StringIO()):
        ti.init(
            arch=wanted,
            enable_fallback=False,
            default_fp=ti.f32,
            default_ip=ti.i32,
            fast_math=False,  # the same bits on every run of a device
            offline_cache=True,
            offline_cache_file_path=str(cache),
            log_level=os.environ["TI_LOG_LEVEL"],  # app/sim/__init__.py sets it
            **extra,
        )
    got = ti.lang.impl.current_cfg().arch
    if got != wanted:
        raise DeviceError(f"Taichi fell back to {got.name}")


def started() -> DeviceInfo | None:
    """What `start` started, or None."""
    return _running


def reset() -> None:
    """End the runtime, if one runs: every field and every compiled kernel is void."""
    global _running, _running_cache
    if _running is None or _running_cache is None:
        return
    import taichi as ti

    cache, _running, _running_cache = _running_cache, None, None
    # Taichi writes its cache now, and crashes where the folder has gone.
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(Exception):  # a cache that cannot be written is no reason to fail
        ti.reset()
    _seal(cache)


def _at_exit() -> None:
    reset()
    if _temporary_cache is not None:
        shutil.rmtree(_temporary_cache, ignore_errors=True)
