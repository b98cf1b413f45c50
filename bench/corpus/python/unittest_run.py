import io
import unittest
from unittest import mock


def parse_duration(text):
    units = {"s": 1, "m": 60, "h": 3600}
    if not text or text[-1] not in units:
        raise ValueError(f"invalid duration: {text!r}")
    return int(text[:-1]) * units[text[-1]]


class ParseDuration(unittest.TestCase):
    def test_units(self):
        for text, expected in (("5s", 5), ("2m", 120), ("1h", 3600)):
            with self.subTest(text=text):
                self.assertEqual(parse_duration(text), expected)

    def test_invalid(self):
        with self.assertRaisesRegex(ValueError, "invalid duration"):
            parse_duration("10")

    def test_fails_on_purpose(self):
        self.assertEqual(parse_duration("1m"), 61)

    @unittest.skip("not implemented")
    def test_days(self):
        self.fail()

    def test_mock(self):
        clock = mock.Mock(return_value=41)
        self.assertEqual(clock() + 1, 42)
        clock.assert_called_once_with()


suite = unittest.defaultTestLoader.loadTestsFromTestCase(ParseDuration)
result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=2).run(suite)
print(f"ran {result.testsRun}, failures {len(result.failures)}, skipped {len(result.skipped)}")
for test, trace in result.failures:
    print(test.id().split(".")[-1], "->", trace.strip().splitlines()[-1])
