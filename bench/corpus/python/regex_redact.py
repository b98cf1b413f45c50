import re

text = """Contact: Jane Roe <jane.roe@example.com>, phone +1 (555) 010-7788.
Card 4111 1111 1111 1111 was charged 19.99 EUR on 2024-02-29; the
backup address is j_roe+spam@mail.example.org. Call 555-010-1234."""


def mask_email(match):
    name, domain = match.group(1), match.group(2)
    return name[0] + "*" * (len(name) - 1) + "@" + domain


def mask_card(match):
    digits = re.sub(r"\D", "", match.group())
    return "**** " * 3 + digits[-4:]


redacted = re.sub(r"([\w.+-]+)@([\w.-]+\w)", mask_email, text)
redacted = re.sub(r"\b(?:\d{4} ?){4}\b", mask_card, redacted)
redacted, count = re.subn(r"(?:\+\d )?\(?\d{3}\)?[ -]\d{3}-\d{4}", "<phone>", redacted)
print(redacted)
print("phones:", count)

dates = re.findall(r"(\d{4})-(\d{2})-(\d{2})", text)
print("dates:", ["/".join(reversed(d)) for d in dates])
print("words of 7 letters:", re.findall(r"\b[a-z]{7}\b", text))
print(re.split(r"[,;.]\s+", "one, two; three. four"))
