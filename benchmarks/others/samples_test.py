#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The arithmetic of samples.py on moments that can be checked by eye: run it as it is."""
import tempfile
import unittest
from array import array
from pathlib import Path

from harness import samples

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


if __name__ == "__main__":
    unittest.main()
