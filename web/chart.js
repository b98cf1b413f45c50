// chart.js -- a small chart: the last minutes, one or two lines that advance every second; or the last hour.
//
// It is drawn as SVG in screen pixels, so that lines stay one pixel wide. The pointer or the arrow keys select earlier
// values. For screen readers the latest values are the name of the image.
import {h, replace, svg} from "./dom.js";
import {clockTime} from "./widgets.js";

const HEIGHT = 96;

// Returns a round number at or above n: 1, 2 or 5 times a power of ten (of two for bytes).
function ceiling(n, base) {
    if (!(n > 0)) return 1;
    if (base === 2) return 2 ** Math.ceil(Math.log2(n));
    const power = 10 ** Math.floor(Math.log10(n));
    return [1, 2, 5, 10].find((f) => f * power >= n) * power;
}

export class Chart {
    // series: [{name, tone: "a" | "b"}]; format(value) -> text; base 2: bytes; atLeast: minimum of the scale's upper
    // end
    constructor({title, series, format, seconds = 120, base = 10, atLeast = 0}) {
        Object.assign(this, {title, series, format, seconds, base, atLeast});
        this.live = []; // {time, values}
        this.hour = null; // the same, one for each minute; null: the live ones are shown
        this.lost = false;
        this.back = null; // number of points that the reader has gone back
        this.now = h("div", {class: "chart-now"});
        this.when = h("span", {class: "chart-when muted small"});
        this.picture = svg("svg", {class: "chart-picture", height: HEIGHT, role: "img", tabindex: "0", "aria-label": `${title}: no figures yet`});
        this.element = h("section", {class: "card chart", "aria-label": `Chart: ${title}`}, h("header", {class: "chart-head"}, h("h2", {}, title), this.when), this.now, this.picture);
        this.picture.addEventListener("pointermove", (event) => this.look(event.offsetX));
        this.picture.addEventListener("pointerleave", () => this.leave());
        this.picture.addEventListener("blur", () => this.leave());
        this.picture.addEventListener("keydown", (event) => this.key(event));
        this.observer = new ResizeObserver(() => this.draw());
        this.observer.observe(this.picture);
    }

    close() { this.observer.disconnect(); }

    get points() { return this.hour ?? this.live; }

    // Shows these points, which are a minute apart, instead of the live ones; null: the live ones again.
    showHour(points) {
        this.hour = points;
        if (this.back !== null) this.back = Math.min(this.back, this.points.length - 1);
        this.draw();
    }

    // values: one for each series; null: missing. time: ms.
    push(time, values) {
        this.live.push({time, values});
        while (this.live[0].time < time - this.seconds * 1000) this.live.shift();
        if (this.hour) return;
        if (this.back !== null) this.back = Math.min(this.back + 1, this.points.length - 1);
        this.draw();
    }

    // The time span shown: all recorded time, at least half a minute.
    get span() {
        return Math.min(Math.max(this.points.at(-1).time - this.points[0].time, 30000), this.hour ? 3600000 : this.seconds * 1000);
    }

    look(x) {
        const width = this.picture.clientWidth, last = this.points.at(-1)?.time;
        if (last === undefined) return;
        const wanted = last - (1 - x / width) * this.span;
        let best = 0;
        this.points.forEach((p, i) => { if (Math.abs(p.time - wanted) < Math.abs(this.points[best].time - wanted)) best = i; });
        this.back = this.points.length - 1 - best;
        this.draw();
    }

    leave() {
        this.back = null;
        this.draw();
    }

    key(event) {
        const step = {ArrowLeft: 1, ArrowRight: -1, PageUp: 10, PageDown: -10, Home: Infinity, End: -Infinity, Escape: -Infinity}[event.key];
        if (step === undefined || this.points.length === 0) return;
        event.preventDefault();
        const back = Math.min(Math.max((this.back ?? 0) + step, 0), this.points.length - 1);
        this.back = back === 0 ? null : back;
        this.draw();
        this.tell(true);
    }

    get shown() { return this.points.at(-1 - (this.back ?? 0)); }

    tell(said) {
        const point = this.shown;
        replace(this.now, this.series.map((s, i) => h("span", {class: "chart-value"}, this.series.length > 1 && h("span", {class: `chart-key chart-key-${s.tone}`}, s.name),
            h("strong", {}, point?.values[i] === null || point?.values[i] === undefined ? "–" : this.format(point.values[i])))));
        this.when.textContent = this.back === null ? "" : clockTime(point.time);
        const text = point ? this.series.map((s, i) => `${s.name} ${point.values[i] === null ? "none" : this.format(point.values[i])}`).join(", ") : "no figures yet";
        // Update the name for screen readers every ten seconds.
        if (said || !this.named || performance.now() - this.named > 10000) {
            this.picture.setAttribute("aria-label", `${this.title}, ${this.back === null ? "now" : clockTime(point.time)}: ${text}`);
            this.named = performance.now();
        }
    }

    draw() {
        const width = this.picture.clientWidth, last = this.points.at(-1)?.time;
        this.tell(false);
        if (!width || last === undefined) return;
        const most = Math.max(this.atLeast, ...this.points.flatMap((p) => p.values.map((v) => v ?? 0)));
        const top = ceiling(most, this.base), pad = 6;
        const span = this.span, x = (time) => width - (last - time) / span * width;
        const y = (value) => HEIGHT - 1 - value / top * (HEIGHT - pad - 1);
        const lines = this.series.map((s, i) => this.line(s, i, x, y));
        const at = this.back === null ? null : this.shown;
        this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
        this.picture.setAttribute("width", width);
        replace(this.picture, [0.5, 1].map((part) => svg("line", {class: "chart-grid", x1: 0, x2: width, y1: y(top * part), y2: y(top * part)})),
            svg("line", {class: "chart-base", x1: 0, x2: width, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5}), lines,
            svg("text", {class: "chart-top", x: 2, y: y(top) + 12}, this.format(top)),
            at && svg("line", {class: "chart-at", x1: x(at.time), x2: x(at.time), y1: 0, y2: HEIGHT}),
            at && at.values.map((v, i) => v !== null && svg("circle", {class: `chart-dot chart-dot-${this.series[i].tone}`, cx: x(at.time), cy: y(v), r: 3})));
    }

    // Draws a line for each range without a gap, and the area below the first series.
    line(series, i, x, y) {
        const stretches = [];
        let current = null, before = null;
        for (const p of this.points) {
            if (p.values[i] === null || (before !== null && p.time - before > (this.hour ? 90000 : 4000))) current = null;
            before = p.time;
            if (p.values[i] === null) continue;
            if (!current) stretches.push(current = []);
            current.push([x(p.time), y(p.values[i])]);
        }
        return stretches.map((points) => {
            const d = points.map(([px, py], n) => `${n ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
            return [i === 0 && points.length > 1 && svg("path", {class: `chart-area chart-area-${series.tone}`, d: `${d}L${points.at(-1)[0].toFixed(1)} ${HEIGHT}L${points[0][0].toFixed(1)} ${HEIGHT}Z`}),
                points.length > 1 ? svg("path", {class: `chart-line chart-line-${series.tone}`, d})
                    : svg("circle", {class: `chart-dot chart-dot-${series.tone}`, cx: points[0][0], cy: points[0][1], r: 1.5})];
        });
    }
}
