# SPDX-License-Identifier: BSL-1.0
"""The pictures of the benchmarks: written without matplotlib, with the figures that they were given."""
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from harness import bars, copy_picture, http_picture, picture  # noqa: E402
from harness.catalogue import BENCHES# noqa: E402
from harness.drawing import BECK_COLOR, Drawing  # noqa: E402
from harness.results import Results  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def results_of(name, figures):
    """Results with a figure in ns for each (case, peer), the same in three rounds but for one part in a hundred."""
    samples = {
        key: [{"cpu_ns_per_op": ns * scale, "rate_mib_per_second": 1e12 / ns} for scale in (0.99, 1.0, 1.01)]
        for key, ns in figures.items()
    }
    return Results(BENCHES[name], samples)


def drawn(draw, results):
    """Returns the root of the SVG, drawn where there is no matplotlib."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, {"matplotlib": None}):
        paths = draw(results, Path(folder) / "picture")
        assert [path.name for path in paths] == ["picture.svg"], paths
        return xml.etree.ElementTree.parse(paths[0]).getroot()


def texts(root):
    return [element.text for element in root.iter(SVG + "text")]


class Pictures(unittest.TestCase):
    def test_the_ping_pong_has_a_bar_for_each_peer_as_long_as_its_figure(self):
        figures = {("callback", "beck-uring"): 400.0, ("callback", "asio-epoll"): 800.0, ("raw", "raw-epoll"): 300.0}
        root = drawn(picture.draw, results_of("pingpong", figures))
        widths = [float(r.get("width")) for r in root.iter(SVG + "rect")][1:]  # the first is the page
        self.assertEqual(len(widths), 3)
        self.assertAlmostEqual(widths[0] / widths[1], 0.5, 3)
        self.assertAlmostEqual(widths[2] / widths[1], 0.375, 3)
        self.assertIn("400 ns, 0.50 of Asio's epoll", texts(root))
        self.assertIn("bare system calls, no library", texts(root))
        self.assertTrue(any("3 interleaved rounds" in text and "the extremes" in text for text in texts(root)))

    def test_nothing_stands_outside_the_page(self):
        figures = {("1k", peer): 9000.0 for peer in http_picture.LABELS}
        figures |= {("file-1g", "raw-epoll"): 2e8, ("connection", "nginx"): 4e4}
        root = drawn(http_picture.draw, results_of("http", figures))
        width, height = float(root.get("width")), float(root.get("height"))
        for element in root.iter():
            for name in ("x", "x1", "x2"):
                self.assertTrue(0 <= float(element.get(name, 0)) <= width, element.attrib)
            for name in ("y", "y1", "y2"):
                self.assertTrue(0 <= float(element.get(name, 0)) <= height - 4 or element.tag == SVG + "rect")

    def test_copies_have_a_rate_and_a_time(self):
        figures = {("zero-null", "beck-auto"): 1e8, ("zero-null", "dd"): 2e8}
        root = drawn(copy_picture.draw, results_of("copy", figures))
        self.assertEqual(sum(r.get("fill") == BECK_COLOR for r in root.iter(SVG + "rect")), 2)
        self.assertIn("0.100", texts(root))
        self.assertIn("9.8", texts(root))

    def test_text_is_escaped(self):
        drawing = Drawing(10, 10)
        drawing.text(1, 1, '<a & "b">', 10)
        self.assertEqual(texts(xml.etree.ElementTree.fromstring(drawing.svg())), ['<a & "b">'])

    def test_a_png_of_earlier_figures_goes(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, {"matplotlib": None}):
            stem = Path(folder) / "picture"
            stem.with_suffix(".png").write_bytes(b"old")
            Drawing(10, 10).save(stem)
            self.assertFalse(stem.with_suffix(".png").exists())


class Ticks(unittest.TestCase):
    def test_there_are_three_to_seven_of_them(self):
        for limit in (0.012, 0.7, 1, 3, 9.9, 10, 650, 1234567):
            count = limit / bars.tick_step(limit)
            self.assertTrue(2.8 <= count <= 7, (limit, count))


if __name__ == "__main__":
    unittest.main()
