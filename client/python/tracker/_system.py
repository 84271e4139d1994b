"""Measures processor, memory, disk, network and GPUs of the machine during a run.

The numbers come from psutil. If psutil is not installed, Linux provides them in /proc. macOS and Windows require psutil.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

PERIOD = 15.0
"""Seconds between two measurements. TRACKER_SYSTEM_PERIOD overrides it."""


class System:
    """Measures the machine periodically. A call returns an empty dictionary if no measurement is due."""

    def __init__(self) -> None:
        try:
            self._period = float(os.environ.get("TRACKER_SYSTEM_PERIOD") or PERIOD)
        except ValueError:
            self._period = PERIOD
        self._next = time.monotonic() + min(1.0, self._period)
        self._before: Dict[str, Tuple[float, float]] = {}
        self._sources: Optional[List[Any]] = None  # None until the first measurement, which finds the sources

    def __call__(self) -> Dict[str, float]:
        now = time.monotonic()
        if now < self._next:
            return {}
        self._next = now + self._period
        if self._sources is None:
            self._sources = self._find()
        values: Dict[str, float] = {}
        for source in self._sources:
            try:
                source(now, values)
            except Exception:  # the system does not support this source, or a driver failed; other sources might work
                continue
        return {"system/" + name: value for name, value in values.items()}

    def _find(self) -> List[Any]:
        from ._gpu import Gpu

        found: List[Any] = [self._process, self._disk]
        try:
            import psutil
        except Exception:  # psutil is not installed, or is broken
            if sys.platform.startswith("linux"):
                found += [self._proc_processor, self._proc_memory, self._proc_network]
        else:
            found.append(lambda now, values: self._psutil(psutil, now, values))
        gpu = Gpu.find()
        return found if gpu is None else [*found, gpu.look]

    def _rate(self, name: str, total: float, now: float) -> Optional[float]:
        """Return the growth per second of the named total since the last call. Return None at the first call."""
        before = self._before.get(name)
        self._before[name] = (total, now)
        if before is None or now <= before[1]:
            return None
        return (total - before[0]) / (now - before[1])

    def _process(self, now: float, values: Dict[str, float]) -> None:
        mine = self._rate("process", time.process_time(), now)
        if mine is not None:
            values["process.cpu_percent"] = 100 * mine

    def _disk(self, now: float, values: Dict[str, float]) -> None:
        import shutil

        usage = shutil.disk_usage(os.getcwd())
        values["disk_percent"] = 100 * usage.used / usage.total

    def _psutil(self, psutil: Any, now: float, values: Dict[str, float]) -> None:
        times = psutil.cpu_times()
        self._share(now, sum(times[:8]), times.idle + getattr(times, "iowait", 0.0), values)
        values["memory_percent"] = float(psutil.virtual_memory().percent)
        values["process.memory_bytes"] = float(psutil.Process().memory_info().rss)
        cards = [count for name, count in psutil.net_io_counters(pernic=True).items() if not name.startswith("lo")]
        self._traffic(now, sum(c.bytes_recv for c in cards), sum(c.bytes_sent for c in cards), values)

    def _proc_processor(self, now: float, values: Dict[str, float]) -> None:
        fields = [int(f) for f in _lines("/proc/stat")[0].split()[1:9]]
        self._share(now, sum(fields), fields[3] + fields[4], values)

    def _proc_memory(self, now: float, values: Dict[str, float]) -> None:
        info = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in _lines("/proc/meminfo"))}
        values["memory_percent"] = 100 * (1 - info["MemAvailable"] / info["MemTotal"])
        resident = int(_lines("/proc/self/statm")[0].split()[1])
        values["process.memory_bytes"] = float(resident * os.sysconf("SC_PAGE_SIZE"))

    def _proc_network(self, now: float, values: Dict[str, float]) -> None:
        received = sent = 0
        for line in _lines("/proc/net/dev")[2:]:
            name, _, rest = line.partition(":")
            fields = rest.split()
            if name.strip() != "lo":
                received, sent = received + int(fields[0]), sent + int(fields[8])
        self._traffic(now, received, sent, values)

    def _share(self, now: float, whole: float, idle: float, values: Dict[str, float]) -> None:
        busy, total = self._rate("busy", whole - idle, now), self._rate("whole", whole, now)
        if busy is not None and total:
            values["cpu_percent"] = 100 * busy / total

    def _traffic(self, now: float, received: float, sent: float, values: Dict[str, float]) -> None:
        for what, total in (("received", received), ("sent", sent)):
            rate = self._rate(what, total, now)
            if rate is not None:
                values[f"network.{what}_bytes_per_second"] = rate


def _lines(path: str) -> List[str]:
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()
