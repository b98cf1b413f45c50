import base64
import binascii
import hashlib
import hmac
import json

SECRET = b"not a real secret"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def sign(payload):
    body = encode(json.dumps(payload, sort_keys=True).encode())
    signature = hmac.new(SECRET, body.encode(), hashlib.sha256).digest()
    return f"{body}.{encode(signature)}"


def verify(token):
    try:
        body, signature = token.split(".")
        expected = hmac.new(SECRET, body.encode(), hashlib.sha256).digest()
        if not hmac.compare_digest(expected, decode(signature)):
            return "bad signature"
        return json.loads(decode(body))
    except (ValueError, binascii.Error):
        return "malformed"


token = sign({"user": "ann", "admin": False})
print(token)
print(verify(token), "|", verify(token[:-4] + "AAAA"), "|", verify("nonsense"))
for name in ("md5", "sha1", "sha256", "blake2b"):
    print(f"{name:8}{hashlib.new(name, b'The quick brown fox').hexdigest()[:32]}")
key = hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1000)
print(key.hex(), f"{binascii.crc32(b'hello'):08x}")
