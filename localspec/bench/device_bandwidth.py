"""Memory bandwidth of graphics devices, from their makers' data sheets, in GB/s (10^9 bytes a second).

A name stands for every device whose description holds it; of several that fit, the longest is meant. Where one name was
sold with several memories the fastest is listed: what follows from it is a bound.
"""

from __future__ import annotations

_GB_PER_SECOND: dict[str, float] = {
    # NVIDIA, servers
    "B200": 8000,
    "GB200": 8000,
    "GH200": 4900,
    "H200": 4800,
    "H100 PCIe": 2000,
    "H100 NVL": 3900,
    "H100": 3350,
    "H800": 3350,
    "H20": 4000,
    "A100-SXM4-80GB": 2039,
    "A100 80GB PCIe": 1935,
    "A100": 1555,
    "A800": 2039,
    "A40": 696,
    "A30": 933,
    "A10G": 600,
    "A10": 600,
    "A16": 200,
    "A2": 200,
    "L40S": 864,
    "L40": 864,
    "L20": 864,
    "L4": 300,
    "V100": 900,
    "P100": 732,
    "P40": 346,
    "T4": 320,
    "GB10": 273,
    # NVIDIA, workstations
    "RTX PRO 6000 Blackwell": 1792,
    "RTX 6000 Ada Generation": 960,
    "RTX 5000 Ada Generation": 576,
    "RTX 4500 Ada Generation": 432,
    "RTX 4000 Ada Generation": 360,
    "RTX 2000 Ada Generation": 224,
    "RTX A6000": 768,
    "RTX A5000": 768,
    "RTX A4500": 640,
    "RTX A4000": 448,
    "RTX A2000": 288,
    # NVIDIA, desktops
    "RTX 5090": 1792,
    "RTX 5080": 960,
    "RTX 5070 Ti": 896,
    "RTX 5070": 672,
    "RTX 5060 Ti": 448,
    "RTX 5060": 448,
    "RTX 4090": 1008,
    "RTX 4080 SUPER": 736,
    "RTX 4080": 717,
    "RTX 4070 Ti SUPER": 672,
    "RTX 4070 Ti": 504,
    "RTX 4070 SUPER": 504,
    "RTX 4070": 504,
    "RTX 4060 Ti": 288,
    "RTX 4060": 272,
    "RTX 3090 Ti": 1008,
    "RTX 3090": 936,
    "RTX 3080 Ti": 912,
    "RTX 3080": 912,
    "RTX 3070 Ti": 608,
    "RTX 3070": 448,
    "RTX 3060 Ti": 608,
    "RTX 3060": 360,
    "RTX 3050": 224,
    "RTX 2080 Ti": 616,
    "RTX 2080 SUPER": 496,
    "RTX 2080": 448,
    "RTX 2070": 448,
    "RTX 2060": 336,
    "GTX 1660 Ti": 288,
    "GTX 1660 SUPER": 336,
    "GTX 1660": 192,
    "GTX 1650": 192,
    "GTX 1080 Ti": 484,
    "GTX 1080": 352,
    "GTX 1070": 256,
    # NVIDIA, laptops
    "RTX 5090 Laptop": 896,
    "RTX 5080 Laptop": 896,
    "RTX 5070 Ti Laptop": 672,
    "RTX 5070 Laptop": 448,
    "RTX 5060 Laptop": 448,
    "RTX 4090 Laptop": 576,
    "RTX 4080 Laptop": 432,
    "RTX 4070 Laptop": 256,
    "RTX 4060 Laptop": 256,
    "RTX 4050 Laptop": 192,
    "RTX 3080 Ti Laptop": 512,
    "RTX 3080 Laptop": 448,
    "RTX 3070 Ti Laptop": 448,
    "RTX 3070 Laptop": 448,
    "RTX 3060 Laptop": 336,
    "RTX 3050 Ti Laptop": 192,
    "RTX 3050 Laptop": 192,
    # Apple
    "Apple M1": 68,
    "Apple M1 Pro": 200,
    "Apple M1 Max": 400,
    "Apple M1 Ultra": 800,
    "Apple M2": 100,
    "Apple M2 Pro": 200,
    "Apple M2 Max": 400,
    "Apple M2 Ultra": 800,
    "Apple M3": 100,
    "Apple M3 Pro": 150,
    "Apple M3 Max": 400,
    "Apple M3 Ultra": 819,
    "Apple M4": 120,
    "Apple M4 Pro": 273,
    "Apple M4 Max": 546,
    "Apple M5": 153,
    # AMD
    "Instinct MI300X": 5300,
    "Instinct MI250X": 3277,
    "Instinct MI210": 1638,
    "Instinct MI100": 1229,
    "Radeon RX 9070 XT": 640,
    "Radeon RX 9070": 640,
    "Radeon RX 9060 XT": 320,
    "Radeon RX 7900 XTX": 960,
    "Radeon RX 7900 XT": 800,
    "Radeon RX 7900 GRE": 576,
    "Radeon RX 7800 XT": 624,
    "Radeon RX 7700 XT": 432,
    "Radeon RX 7600": 288,
    "Radeon RX 6950 XT": 576,
    "Radeon RX 6900 XT": 512,
    "Radeon RX 6800 XT": 512,
    "Radeon RX 6800": 512,
    "Radeon RX 6700 XT": 384,
    "Radeon RX 6600": 224,
    "Radeon 8060S": 256,
    # Intel
    "Arc B580": 456,
    "Arc B570": 380,
    "Arc A770": 560,
    "Arc A750": 512,
    "Arc A380": 186,
}


def listed_bandwidth(description: str) -> float | None:
    """GB/s of a device by the name its driver gives it, such as "NVIDIA GeForce RTX 4090"; None when it is not listed.

    Names are compared word by word, letter case aside: an "L40S" is no "L40", and an "A100-SXM4-40GB" is an "A100".
    """
    words = _words(description)
    fitting = [name for name in _GB_PER_SECOND if _holds(words, _words(name))]
    return _GB_PER_SECOND[max(fitting, key=len)] if fitting else None


def _words(text: str) -> list[str]:
    return text.casefold().replace("-", " ").replace("(", " ").replace(")", " ").split()


def _holds(words: list[str], name: list[str]) -> bool:
    return any(words[i : i + len(name)] == name for i in range(len(words) - len(name) + 1))
