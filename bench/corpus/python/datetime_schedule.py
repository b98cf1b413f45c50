import calendar
from datetime import date, datetime, timedelta, timezone


def business_days(start, end, holidays=()):
    day = start
    while day <= end:
        if day.weekday() < 5 and day not in holidays:
            yield day
        day += timedelta(days=1)


holidays = {date(2024, 5, 1), date(2024, 5, 9), date(2024, 5, 20)}
days = list(business_days(date(2024, 5, 1), date(2024, 5, 31), holidays))
print(f"{len(days)} business days in May 2024, first {days[0]:%a %d %b}, last {days[-1]:%a %d %b}")

# Last Friday of each month
for month in range(1, 7):
    last = max(week[calendar.FRIDAY] for week in calendar.monthcalendar(2024, month))
    print(date(2024, month, last).isoformat(), end=" ")
print()

meeting = datetime(2024, 3, 10, 14, 30, tzinfo=timezone(timedelta(hours=2), "EET"))
for name, hours in [("UTC", 0), ("New York", -5), ("Kolkata", 5.5), ("Tokyo", 9)]:
    local = meeting.astimezone(timezone(timedelta(hours=hours)))
    print(f"{name:9} {local:%Y-%m-%d %H:%M %z}")

parsed = datetime.strptime("2024-02-29T23:59:59+0000", "%Y-%m-%dT%H:%M:%S%z")
print((parsed + timedelta(days=366)).isoformat(), parsed.timestamp())
age = date(2024, 2, 29) - date(1990, 7, 15)
print(age.days, "days,", age.days // 365, "years")
