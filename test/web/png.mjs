// png.mjs -- makes screenshots small: 256 colours, which is enough for a page, and a palette instead of pixels.
import {deflateSync, inflateSync} from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]);

// Rows of RGB or RGBA, 8 bits each, as browsers write them.
function decode(file) {
    let at = 8, header = null;
    const data = [];
    while (at < file.length) {
        const length = file.readUInt32BE(at), kind = file.toString("latin1", at + 4, at + 8), body = file.subarray(at + 8, at + 8 + length);
        if (kind === "IHDR") header = {width: body.readUInt32BE(0), height: body.readUInt32BE(4), channels: {2: 3, 6: 4}[body[9]]};
        if (kind === "IDAT") data.push(body);
        at += length + 12;
    }
    const {width, height, channels} = header, stride = width * channels;
    const raw = inflateSync(Buffer.concat(data)), out = Buffer.alloc(stride * height);
    for (let y = 0; y < height; y++) unfilter(raw.subarray(y * (stride + 1), (y + 1) * (stride + 1)), out, y, stride, channels);
    return {width, height, channels, pixels: out};
}

function unfilter(row, out, y, stride, n) {
    for (let x = 0; x < stride; x++) {
        const a = x >= n ? out[y * stride + x - n] : 0, b = y > 0 ? out[(y - 1) * stride + x] : 0, c = x >= n && y > 0 ? out[(y - 1) * stride + x - n] : 0;
        const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
        const guess = [0, a, b, (a + b) >> 1, pa <= pb && pa <= pc ? a : pb <= pc ? b : c][row[0]];
        out[y * stride + x] = row[x + 1] + guess;
    }
}

const table = Uint32Array.from({length: 256}, (_, n) => { for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1; return n >>> 0; });

function chunk(kind, body) {
    const all = Buffer.concat([Buffer.from(kind, "latin1"), body]);
    let crc = 0xffffffff;
    for (const byte of all) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
    const length = Buffer.alloc(4), sum = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    sum.writeUInt32BE((crc ^ 0xffffffff) >>> 0);
    return Buffer.concat([length, all, sum]);
}

// The most frequent colours, but none that is nearly another one already taken.
function palette(counts) {
    const chosen = [];
    for (const near of [12, 4, 0]) {
        for (const [colour] of [...counts].sort((a, b) => b[1] - a[1])) {
            if (chosen.length === 256) return chosen;
            if (!chosen.some((other) => distance(colour, other) <= near * near)) chosen.push(colour);
        }
    }
    return chosen;
}

const distance = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + ((a >> 8 & 255) - (b >> 8 & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;

export function shrink(file) {
    const {width, height, channels, pixels} = decode(file);
    const colours = new Uint32Array(width * height), counts = new Map();
    for (let i = 0; i < colours.length; i++) {
        const colour = pixels[i * channels] << 16 | pixels[i * channels + 1] << 8 | pixels[i * channels + 2];
        colours[i] = colour;
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    const chosen = palette(counts), index = new Map();
    for (const colour of counts.keys()) {
        let best = 0;
        for (let i = 1; i < chosen.length; i++) if (distance(colour, chosen[i]) < distance(colour, chosen[best])) best = i;
        index.set(colour, best);
    }
    const rows = Buffer.alloc((width + 1) * height);
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = index.get(colours[y * width + x]);
    const header = Buffer.alloc(13);
    header.writeUInt32BE(width, 0);
    header.writeUInt32BE(height, 4);
    header.set([8, 3, 0, 0, 0], 8);
    const plte = Buffer.from(chosen.flatMap((c) => [c >> 16, c >> 8 & 255, c & 255]));
    return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("PLTE", plte), chunk("IDAT", deflateSync(rows, {level: 9})), chunk("IEND", Buffer.alloc(0))]);
}
