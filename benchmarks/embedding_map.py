"""Time each drawing of a map of embeddings while it zooms, in headless Chromium.

Frames are asked for one after another; a frame of more than 16.7 ms was late.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.measuring import positive
from tests.build.browser import chromium
from tests.report.html.maps import built, many, page_of

TIMED = """
window.spent = [];
const ask = window.requestAnimationFrame;
window.requestAnimationFrame = (draw) => ask.call(window, (now) => {
  const begun = performance.now();
  draw(now);
  window.spent.push([draw.name, performance.now() - begun]);
});
"""
ZOOM = """async (n) => {
  const canvas = document.getElementById('map'), box = canvas.getBoundingClientRect();
  const ends = [];
  window.spent.length = 0;
  for (let i = 0; i < n; i++) {
    canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: i % 20 < 10 ? -120 : 120,
      clientX: box.x + 300, clientY: box.y + 200, bubbles: true, cancelable: true}));
    await new Promise((done) => setTimeout(() => requestAnimationFrame(done), 0));
    ends.push(performance.now());
  }
  const drawings = window.spent.filter(([name]) => name === 'draw').map(([, ms]) => ms);
  return [drawings, ends.slice(1).map((end, i) => end - ends[i])];
}"""


def measure(html: str, frames: int) -> dict[str, list[float]]:
    """Milliseconds of each drawing, and from frame to frame."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "map.html"
        file.write_text(html, encoding="utf-8")
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.add_init_script(TIMED)
        tab.goto(file.as_uri())
        tab.wait_for_timeout(500)
        drawings, between = tab.evaluate(ZOOM, frames)
    return {"drawing": drawings, "frame to frame": between}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=positive, default=10_000, help="rounded up to tens")
    parser.add_argument("--frames", type=positive, default=100)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args(arguments)
    html = page_of(built(many(-(-given.points // 10))))
    measured = measure(html, given.frames)
    if given.json:
        print(json.dumps({"points": given.points, "bytes": len(html.encode()), "ms": measured}))
        return 0
    print(f"{given.points} points, {len(html.encode()) / 1e6:.1f} MB")
    print(f"{'ms':14} {'median':>7} {'longest':>8} {'n':>4}")
    for name, times in measured.items():
        if times:
            print(f"{name:14} {median(times):>7.1f} {max(times):>8.1f} {len(times):>4}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
