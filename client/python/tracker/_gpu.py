"""Reads the state of NVIDIA GPUs from NVML, the library that comes with their driver."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Dict, List, Optional, Type

TEMPERATURE_OF_GPU = 0
"""The value of NVML_TEMPERATURE_GPU."""


class _Utilization(ctypes.Structure):
    """nvmlUtilization_t: percent of the last sample period in which kernels ran, or in which memory was accessed."""

    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Memory(ctypes.Structure):
    """nvmlMemory_t. The numbers are in bytes."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Gpu:
    """All GPUs that NVML lists, with NVML's numbers."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._devices: List[ctypes.c_void_p] = []
        count = self._ask("nvmlDeviceGetCount_v2", ctypes.c_uint)
        for number in range(count.value if count else 0):
            device = self._ask("nvmlDeviceGetHandleByIndex_v2", ctypes.c_void_p, ctypes.c_uint(number))
            if device is not None:
                self._devices.append(device)

    @classmethod
    def find(cls) -> Optional[Gpu]:
        """Return the GPUs, or None if there is no driver or no GPU."""
        try:
            library = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
            if library.nvmlInit_v2() != 0:
                return None
            found = cls(library)
        except (OSError, AttributeError):
            return None
        return found if found._devices else None

    def _ask(self, function: str, kind: Type[Any], *arguments: Any) -> Any:
        """Return the value that an NVML function writes to its last argument. Return None if the function fails."""
        answer = kind()
        return answer if getattr(self._library, function)(*arguments, ctypes.byref(answer)) == 0 else None

    def look(self, now: float, values: Dict[str, float]) -> None:
        """Add the state of each GPU to values: utilization in percent, memory, degrees Celsius, watts."""
        for number, device in enumerate(self._devices):
            name = f"gpu.{number}."
            utilization = self._ask("nvmlDeviceGetUtilizationRates", _Utilization, device)
            if utilization is not None:
                values[name + "utilization_percent"] = float(utilization.gpu)
            memory = self._ask("nvmlDeviceGetMemoryInfo", _Memory, device)
            if memory is not None and memory.total:
                values[name + "memory_bytes"] = float(memory.used)
                values[name + "memory_percent"] = 100 * memory.used / memory.total
            temperature = self._ask("nvmlDeviceGetTemperature", ctypes.c_uint, device, ctypes.c_int(TEMPERATURE_OF_GPU))
            if temperature is not None:
                values[name + "temperature_celsius"] = float(temperature.value)
            milliwatts = self._ask("nvmlDeviceGetPowerUsage", ctypes.c_uint, device)
            if milliwatts is not None:
                values[name + "power_watts"] = milliwatts.value / 1000
