"""Tests of GPU metrics, with a replacement for the driver's library, which is compiled here."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Callable

import pytest

from .conftest import Script, Server

NVML = r"""
#include <stdint.h>
#include <stdlib.h>
static int started;
static int cards[2] = {10, 20};
static unsigned looks;
int nvmlInit_v2(void) { started = 1; return getenv("NO_DRIVER") ? 9 : 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { if (!started) return 1; *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { if (index > 1) return 2; *device = &cards[index]; return 0; }
int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates) {
    rates[0] = *(int *)device + looks++ / 2 % 2; rates[1] = 99; return 0; }
int nvmlDeviceGetMemoryInfo(void *device, uint64_t *memory) {
    uint64_t gib = 1ull << 30; memory[0] = 80 * gib; memory[1] = 60 * gib; memory[2] = 20 * gib; return 0; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) { if (sensor != 0) return 2; *celsius = 60; return 0; }
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
    if (device == &cards[1]) return 3; *milliwatts = 123500; return 0; }
"""

LOGGER = """
    import time, tracker
    run = tracker.init(capture=["system"])
    print(run.id, flush=True)
    end = time.monotonic() + 180
    while "system/gpu.1.temperature_celsius" not in run.last() and time.monotonic() < end:
        time.sleep(0.05)
    run.finish()
"""


@pytest.fixture
def driver(tmp_path: pathlib.Path) -> str:
    """The folder of the library."""
    folder = tmp_path / "driver"
    folder.mkdir()
    (folder / "nvml.c").write_text(NVML)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(folder / "nvml.c")], check=True)
    return str(folder)


def test_gpus_are_watched(server: Server, driver: str, script: Callable[..., Script]) -> None:
    one = script(LOGGER, LD_LIBRARY_PATH=driver, TRACKER_SYSTEM_PERIOD="0.1")
    id, said = one.line(), one.end()
    assert one.process.returncode == 0, said
    first = {key: points[0] for key, points in ((k, server.points(id, "system/gpu." + k)) for k in (
        "0.utilization_percent", "1.utilization_percent", "0.memory_bytes", "1.memory_percent", "0.temperature_celsius",
        "0.power_watts")) if points}
    assert first == {"0.utilization_percent": (0, 10), "1.utilization_percent": (0, 20), "0.memory_bytes": (0, 20 << 30),
                     "1.memory_percent": (0, 25), "0.temperature_celsius": (0, 60), "0.power_watts": (0, 123.5)}
    assert server.points(id, "system/gpu.1.power_watts") == [], "the second card does not report its power"


@pytest.mark.parametrize("broken", [False, True])
def test_a_driver_that_does_not_work_is_none(driver: str, broken: bool) -> None:
    if broken:
        (pathlib.Path(driver) / "libnvidia-ml.so.1").write_text("no library")
    done = subprocess.run([sys.executable, "-c", "from tracker._gpu import Gpu; print(Gpu.find())"], text=True, check=True,
                          env={**os.environ, "LD_LIBRARY_PATH": driver, "NO_DRIVER": "1"}, capture_output=True)
    assert done.stdout == "None\n"


def test_the_machine_is_watched_without_psutil(server: Server, script: Callable[..., Script]) -> None:
    text = LOGGER.replace("import time", "import sys; sys.modules['psutil'] = None; import time")
    one = script(text.replace("gpu.1.temperature_celsius", "process.cpu_percent"), TRACKER_SYSTEM_PERIOD="0.1")
    id, said = one.line(), one.end()
    assert one.process.returncode == 0, said
    for name in ("memory_percent", "disk_percent", "process.memory_bytes"):
        assert server.points(id, "system/" + name)[0][1] > 0
