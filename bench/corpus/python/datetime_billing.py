from datetime import date, datetime, time, timedelta

sessions = [
    ("2024-01-30 22:15", "2024-01-31 01:45"),
    ("2024-01-31 08:00", "2024-01-31 09:10"),
    ("2024-02-01 23:50", "2024-02-02 00:20"),
    ("2024-02-02 10:00", "2024-02-02 10:00"),
]


def split_by_day(begin, end):
    """Split a session at midnight, so that each part belongs to one day."""
    while begin.date() < end.date():
        midnight = datetime.combine(begin.date() + timedelta(days=1), time())
        yield begin.date(), midnight - begin
        begin = midnight
    yield begin.date(), end - begin


def month_end(day):
    first_of_next = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return first_of_next - timedelta(days=1)


totals = {}
for begin, end in sessions:
    for day, duration in split_by_day(datetime.fromisoformat(begin), datetime.fromisoformat(end)):
        totals[day] = totals.get(day, timedelta()) + duration

for day, duration in sorted(totals.items()):
    hours = duration / timedelta(hours=1)
    print(f"{day}  {str(duration):>8}  {hours:5.2f} h  {hours * 12.5:7.2f}")
print("invoice date:", month_end(max(totals)), "due:", month_end(max(totals)) + timedelta(days=14))
print("quarter:", (max(totals).month - 1) // 3 + 1, "week:", date(2024, 12, 30).isocalendar()[:2])
