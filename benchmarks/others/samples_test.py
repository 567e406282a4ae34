#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The arithmetic of samples.py on moments that can be checked by eye, and the page that results become: run it as it is."""
import json
import tempfile
import unittest
from array import array
from pathlib import Path
from unittest import mock

from harness import drivers, points, report, samples

US = 1000


def columns(*rows):
    """Rows of (worker, asked, granted, releasing, released) in microseconds, as if one process had written them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "samples"
        flat = [value for worker, *moments in rows for value in (worker, *(each * US for each in moments))]
        file.write_bytes(array("q", flat).tobytes())
        return samples.read([file])


class Samples(unittest.TestCase):
    def test_a_hand_off_runs_from_a_release_to_the_grant_after_it(self):
        told = samples.hand_offs(columns((0, 0, 1, 10, 11), (1, 0, 15, 20, 21)), convoy=True)
        self.assertEqual(told["hand_off"]["values"], [5])
        self.assertEqual(told["overlaps"], 0)

    def test_two_holders_at_once_are_counted(self):
        told = samples.hand_offs(columns((0, 0, 1, 10, 11), (1, 0, 9, 20, 21)), convoy=True)
        self.assertEqual(told["overlaps"], 1)

    def test_in_a_convoy_who_asked_after_the_release_was_not_waiting(self):
        told = samples.hand_offs(columns((0, 0, 1, 10, 11), (1, 12, 15, 20, 21)), convoy=True)
        self.assertEqual(told["hand_off"]["count"], 0)

    def test_a_lock_that_its_holder_takes_again_is_no_hand_off(self):
        told = samples.hand_offs(columns((0, 0, 1, 10, 11), (0, 11, 12, 20, 21), (1, 0, 23, 24, 25)), convoy=False)
        self.assertEqual(told["hand_off"]["values"], [3])
        self.assertEqual(told["again_share"], 0.5)

    def test_the_order_of_grants_counts_not_that_of_the_file(self):
        told = samples.hand_offs(columns((1, 0, 15, 20, 21), (0, 0, 1, 10, 11)), convoy=True)
        self.assertEqual((told["hand_off"]["values"], told["overlaps"]), ([5], 0))

    def test_workers_of_two_processes_are_two(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in "ab"]
            for file in files:
                file.write_bytes(array("q", [0, 1, 2, 3, 4]).tobytes())
            self.assertEqual(len(set(samples.read(files)[0])), 2)

    def test_a_permit_more_than_there_are_is_counted(self):
        told = columns((0, 0, 1, 10, 11), (1, 0, 2, 20, 21), (2, 0, 9, 30, 31))
        self.assertEqual(samples.permits(told, 3, 3)["overlaps"], 0)
        self.assertEqual(samples.permits(told, 2, 3)["overlaps"], 1)
        self.assertEqual(samples.permits(told, 1, 3)["overlaps"], 2)

    def test_a_permit_may_be_taken_at_the_moment_it_is_given_back(self):
        told = samples.permits(columns((1, 0, 10, 20, 21), (0, 0, 1, 10, 11)), 1, 2)
        self.assertEqual(told["overlaps"], 0)

    def test_readers_hold_at_once(self):
        told = samples.readers(columns((1, 0, 1, 10, 11), (2, 0, 2, 9, 11), (3, 0, 3, 12, 13)), 20)
        self.assertEqual(told["overlaps"], 0)

    def test_a_writer_beside_a_reader_is_counted(self):
        self.assertEqual(samples.readers(columns((1, 0, 1, 10, 11), (10, 0, 9, 20, 21)), 20)["overlaps"], 1)
        self.assertEqual(samples.readers(columns((10, 0, 1, 10, 11), (1, 0, 9, 20, 21)), 20)["overlaps"], 1)

    def test_two_writers_at_once_are_counted(self):
        self.assertEqual(samples.readers(columns((0, 0, 1, 10, 11), (10, 0, 9, 20, 21)), 20)["overlaps"], 1)

    def test_under_a_plain_lock_a_reader_beside_a_reader_is_counted(self):
        self.assertEqual(samples.readers(columns((1, 0, 1, 10, 11), (2, 0, 9, 20, 21)), 20, exclusive=True)["overlaps"], 1)

    def test_two_holders_of_one_of_their_names_are_counted(self):
        for others, found in (((4, 8, 12), 0), ((13,), 3), ((3,), 3), ((16,), 4)):  # beginning at 4, 8, 12; 1; 15; 0
            told = columns((0, 0, 1, 10, 11), *((worker, 0, 2, 9, 11) for worker in others))
            self.assertEqual(samples.several(told, 64)["overlaps"], found)

    def test_waits_of_readers_and_writers_are_told_apart(self):
        told = samples.readers(columns((0, 0, 5, 6, 7), (1, 0, 8, 9, 10), (2, 0, 9, 10, 11), (10, 4, 13, 14, 15)), 20)
        self.assertEqual((told["wait"]["values"], told["writer_wait"]["values"], told["writer_share"]), ([8, 9], [5, 9], 0.5))

    def test_a_share_of_leases_is_measured_by_an_even_one(self):
        grants = columns(*((worker, 0, 1, 1, 1) for worker in (0, 0, 0, 1)))
        self.assertEqual(samples.permits(grants, 9, 2)["least_share"], 0.5)
        self.assertEqual(samples.permits(grants, 9, 3)["least_share"], 0)

    def test_a_quantile_needs_a_sample_beyond_it(self):
        self.assertNotIn("p99", samples.quantiles(range(99)))
        self.assertEqual(samples.quantiles(range(100))["p99"], 99)
        self.assertEqual(samples.quantiles(range(1000))["p999"], 999)


PAGE = """# Measured

<!-- figures: few -->

{}<!-- end -->

Words.

<!-- figures: rows -->

{}<!-- end -->
"""
FEW = ("", {"1": "cycles-N3-C1", "16, N = 5": "cycles-N5-C16"}, [
    ("cycles/s (1)", "rate"), ("cycles/s (16, N = 5)", "rate"), ("p50 us (1)", "latency.p50"), ("p99 (1)", "latency.p99")])
ROWS = ("Servers", {"3": "permits-N3-C64-K8-hold1000us", "1": "permits-N1-C64-K8-hold1000us"}, [
    ("leases/s", "rate"), ("ratio", "ratio"), ("wait p50 ms", "wait.p50")])


def measurements():
    """Two rounds of every point. Libraries have 1000, 2000, ... cycles a second, and a tenth more in the second round."""
    same = ("client_us", "server_us", "commands_each", "again_share", "served", "least_share", "writer_share", "neighbours_share", "overlaps")
    told = dict.fromkeys(same, 0) | {"done": 5, "failures": {}, "latency": {"p50": 1234.4}, "hand_off": {}, "wait": {"p50": 1500}, "writer_wait": {}}
    return [told | {"driver": driver.name, "point": place.name, "round": turn, "rate": number * (1000 + 100 * turn)}
            for turn in range(2) for place in points.ALL for number, driver in enumerate(drivers.ALL, 1) if driver.joins(place)]


def published(lines, page):
    """The page that these lines of measurements.jsonl make of a page, or why they do not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "measurements.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
        (folder / "about.json").write_text('{"skipped": {}}')
        (folder / "comparison.md").write_text(page)
        try:
            report.write(folder, folder)
        except report.Unpublishable as error:
            assert (folder / "comparison.md").read_text() == page and not (folder / "images").exists()
            return str(error)
        return (folder / "comparison.md").read_text()


class Page(unittest.TestCase):
    """Four libraries, two points of each part, and two tables."""
    page = PAGE.format("old\n\n", "old\n\n")

    def setUp(self):
        for of, name, few in (
                (report, "TABLES", {"few": FEW, "rows": ROWS}),
                (points, "ALL", [each for each in points.ALL if each.name in {*FEW[1].values(), *ROWS[1].values()}]),
                (drivers, "ALL", [each for each in drivers.ALL if each.name in (
                    "asio-redlock", "hiredis by hand", "asio-redlock semaphore", "redis-semaphore")])):
            patch = mock.patch.object(of, name, few)
            patch.start()
            self.addCleanup(patch.stop)
        self.lines = measurements()

    def test_tables_have_the_figures_of_the_results(self):
        for line in self.lines:
            if (line["driver"], line["point"]) == ("hiredis by hand", "cycles-N3-C1"):
                line |= {"done": 0, "rate": 0}
        self.lines[-1]["rate"] *= 2
        self.assertEqual(published(self.lines, self.page), PAGE.format("""\
| | cycles/s (1) | cycles/s (16, N = 5) | p50 us (1) | p99 (1) |
|---|---|---|---|---|
| asio-redlock | 1 050 | 1 050 | 1 234 | – |
| hiredis by hand | none | 2 100 | – | – |

""", """\
| Servers | | leases/s | ratio | wait p50 ms |
|---|---|---|---|---|
| 3 | `semaphore` | 3 150 | 1.0 | 1.5 |
| 3 | redis-semaphore | 4 200 | 1.3 | 1.5 |
| 1 | `semaphore` | 3 150 | 1.0 | 1.5 |
| 1 | redis-semaphore | 6 400 | 2.0 (1.3–2.7) | 1.5 |

"""))

    def test_a_part_that_was_not_measured_stays(self):
        told = published([each for each in self.lines if each["point"].startswith("permits")], self.page)
        self.assertIn("<!-- figures: few -->\n\nold\n", told)
        self.assertIn("| 3 | `semaphore` | 3 150 |", told)

    def test_results_that_do_not_fit_leave_the_page(self):
        for change, why in (({"driver": "redlock 9"}, "unknown driver redlock 9"), ({"point": "cycles-N9-C1"}, "unknown point cycles-N9-C1"),
                            ({"rate": None}, "asio-redlock in cycles-N3-C1: no rate"),
                            ({"rate": None, "error": "hung"}, "asio-redlock in cycles-N3-C1: hung")):
            changed = {key: value for key, value in (self.lines[0] | change).items() if value is not None}
            self.assertIn(why, published([changed, *self.lines[1:]], self.page))
        some = [each for each in self.lines if each["driver"] != "redis-semaphore"]
        self.assertIn("redis-semaphore in permits-N3-C64-K8-hold1000us: not measured", published(some, self.page))
        self.assertEqual(published([], self.page), "no measurements")

    def test_a_page_that_lacks_a_table_stays(self):
        self.assertIn("no <!-- figures: few -->", published(self.lines, self.page.replace("few", "many")))


class Comparison(unittest.TestCase):
    def test_the_heads_and_the_libraries_of_the_page_are_those_of_its_next_results(self):
        page = (drivers.ROOT / "docs/comparison.md").read_text()
        before, after = (text.split("\n") for text in (page, published(measurements(), page)))
        kept = [[line for line, below in zip(text, text[1:]) if below.startswith("|---") or "| this tree |" in line] for text in (before, after)]
        self.assertEqual(*kept)
        self.assertNotEqual(before, after)

    def test_figures_of_the_page_are_measured_at_their_points(self):
        known = {each.name: {path for _, path in report.columns_of(each)} for each in points.ALL}
        for _, places, columns in report.TABLES.values():
            for place in places.values():
                self.assertLessEqual({path for _, path in columns}, known[place])


if __name__ == "__main__":
    unittest.main()
