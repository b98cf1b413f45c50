// loglist.js -- a list of up to a million rows, of which only the visible ones are in the document.
//
// Rows are loaded in pages, each identified by the cursor it begins after. The log only grows at its new end, so a page
// always has the same content. A few pages around the visible rows are kept; of the others only the number of rows is
// known, and they are loaded again when the user scrolls back. All rows have the same height. Browsers cannot create an
// element as tall as a million rows: above TALLEST the position of the scroll bar is proportional.
import {h, replace, spinner} from "./app.js";

export const ROW = 52; // pixels; the same in pages.css
const PAGE = 200; // rows
const KEPT = 12; // pages
const BEYOND = 8; // rows drawn above and below the visible ones
const TALLEST = 12000000;
const LIVE_MAX = 1000; // rows that arrived while the list was open

export class LogList {
    // load(cursor, limit) -> {executions, cursor, searched}; render(row) -> an element with a focusable; onState(state)
    constructor({load, render, onState, label}) {
        Object.assign(this, {load, render, onState});
        this.spacer = h("div", {class: "log-space"});
        this.window = h("div", {class: "log-window"});
        this.tail = h("div", {class: "log-tail", role: "status"});
        this.element = h("div", {class: "log", role: "region", "aria-label": label, tabindex: "0"}, this.spacer, this.window);
        this.spacer.append(this.tail);
        this.element.addEventListener("scroll", () => this.soon(), {passive: true});
        this.element.addEventListener("keydown", (event) => this.key(event));
        this.observer = new ResizeObserver(() => this.soon());
        this.observer.observe(this.element);
        this.turn = 0;
        this.reset();
    }

    close() {
        this.turn++;
        this.observer.disconnect();
        cancelAnimationFrame(this.frame);
    }

    // Starts again from the newest row.
    reset() {
        this.turn++;
        this.pages = []; // {cursor, count, rows or null, start}
        this.live = []; // newest first
        this.ids = new Set();
        this.next = null; // cursor of the next page to load
        this.ended = this.busy = false;
        this.failed = null;
        this.searched = null;
        this.loading = new Set();
        this.drawn = new Map(); // row id -> element
        this.window.replaceChildren();
        this.element.scrollTop = 0;
        this.more();
    }

    get rows() {
        const last = this.pages.at(-1);
        return this.live.length + (last ? last.start + last.count : 0);
    }

    /* ---- data ---- */
    async more() {
        if (this.busy || this.ended || this.failed) return;
        const mine = this.turn;
        this.busy = true;
        this.tell();
        try {
            const answer = await this.load(this.next, PAGE);
            if (mine !== this.turn) return;
            const start = this.pages.length > 0 ? this.pages.at(-1).start + this.pages.at(-1).count : 0;
            // Rows that arrived live are already at the top.
            const rows = this.pages.length === 0 ? answer.executions.filter((row) => !this.ids.has(row.id)) : answer.executions;
            if (rows.length > 0) this.pages.push({cursor: this.next, count: rows.length, rows, start, first: this.pages.length === 0});
            this.next = answer.cursor;
            this.ended = answer.cursor === null;
            this.searched = answer.searched ?? null;
        } catch (error) {
            if (mine !== this.turn) return;
            if (error.kind !== "aborted") this.failed = error;
        }
        this.busy = false;
        this.tell();
        this.draw();
    }

    retry() {
        if (!this.failed) return;
        this.failed = null;
        this.more();
    }

    tell() {
        this.onState?.({rows: this.rows, ended: this.ended, busy: this.busy, failed: this.failed, searched: this.searched});
        replace(this.tail, this.failed ? "" : this.busy ? [spinner(), h("span", {}, this.searched ? `Searching, at ${new Date(this.searched).toLocaleString("en-GB")}…` : "Loading…")]
            : this.ended && this.rows > 0 ? h("span", {class: "muted"}, "End of the log.") : "");
    }

    // Adds rows that have just ended, oldest first; already filtered.
    add(rows) {
        const fresh = rows.filter((row) => !this.ids.has(row.id) && !this.pages[0]?.rows?.some((r) => r.id === row.id));
        if (fresh.length === 0) return 0;
        for (const row of fresh) {
            this.ids.add(row.id);
            this.live.unshift(row);
        }
        if (this.live.length > LIVE_MAX) return this.reset(), fresh.length; // they are in the log now
        // If the user has scrolled down, keep the visible rows in place.
        if (this.element.scrollTop > ROW / 2 && this.scale === 1) this.element.scrollTop += fresh.length * ROW;
        this.tell();
        this.draw();
        return fresh.length;
    }

    rowAt(index) {
        if (index < this.live.length) return this.live[index];
        index -= this.live.length;
        let low = 0, high = this.pages.length - 1;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (this.pages[middle].start <= index) low = middle; else high = middle - 1;
        }
        const page = this.pages[low];
        if (!page || index >= page.start + page.count) return undefined;
        if (!page.rows) {
            this.fetch(page);
            return null;
        }
        page.used = ++this.uses;
        return page.rows[index - page.start];
    }

    uses = 0;

    async fetch(page) {
        if (this.loading.has(page)) return;
        const mine = this.turn;
        this.loading.add(page);
        try {
            const rows = [];
            for (let cursor = page.cursor; rows.length < page.count;) {
                const answer = await this.load(cursor, page.count - rows.length);
                if (mine !== this.turn) return;
                rows.push(...answer.executions);
                cursor = answer.cursor;
                if (cursor === null) break;
            }
            // Retention may have deleted the oldest rows: then fewer are returned, and the rest is shown as deleted.
            while (rows.length < page.count) rows.push({id: `gone-${page.start + rows.length}`, gone: true});
            page.rows = rows.slice(0, page.count);
            page.used = ++this.uses;
        } catch (error) {
            if (mine !== this.turn || error.kind === "aborted") return;
            this.failed = error;
            this.tell();
        } finally {
            this.loading.delete(page);
        }
        this.soon();
    }

    // Drops the rows of the pages that were not used for the longest time.
    forget() {
        const full = this.pages.filter((page) => page.rows && !page.first);
        if (full.length <= KEPT) return;
        full.sort((a, b) => (a.used ?? 0) - (b.used ?? 0));
        for (const page of full.slice(0, full.length - KEPT)) page.rows = null;
    }

    /* ---- visible rows ---- */
    soon() {
        this.frame ??= requestAnimationFrame(() => {
            this.frame = null;
            this.draw();
        });
    }

    get whole() { return this.rows * ROW; }
    get height() { return Math.min(this.whole, TALLEST); }
    get scale() {
        const view = this.element.clientHeight;
        return this.whole <= TALLEST ? 1 : (this.whole - view) / (TALLEST - view);
    }
    get top() { return this.element.scrollTop * this.scale; } // in unscaled pixels

    draw() {
        const view = this.element.clientHeight, rows = this.rows;
        this.spacer.style.height = `${this.height + 56}px`;
        if (view === 0) return;
        const top = Math.max(0, Math.min(this.top, this.whole - view));
        const first = Math.max(0, Math.floor(top / ROW) - BEYOND), end = Math.min(rows, Math.ceil((top + view) / ROW) + BEYOND);
        this.window.style.transform = `translateY(${this.element.scrollTop + (first * ROW - top)}px)`;
        const wanted = [];
        for (let i = first; i < end; i++) {
            const row = this.rowAt(i);
            if (row === undefined) break;
            wanted.push(this.elementOf(row, i));
        }
        this.place(wanted);
        this.forget();
        if (end >= rows - PAGE / 2) this.more();
    }

    elementOf(row, index) {
        const id = row?.id ?? `waits-${index}`;
        let element = this.drawn.get(id);
        if (!element) {
            element = row ? this.render(row) : h("div", {class: "log-row log-waits", "aria-hidden": "true"});
            element.dataset.row = id;
            this.drawn.set(id, element);
        }
        element.dataset.index = index;
        return element;
    }

    // Puts the elements into this order without moving those that are in place, so that the focus stays.
    place(wanted) {
        const stay = new Set(wanted);
        for (const [id, element] of this.drawn)
            if (!stay.has(element)) {
                if (element.contains(document.activeElement)) this.element.focus({preventScroll: true});
                element.remove();
                this.drawn.delete(id);
            }
        let at = this.window.firstChild;
        for (const element of wanted) {
            if (element === at) at = at.nextSibling;
            else this.window.insertBefore(element, at);
        }
    }

    /* ---- the keyboard ---- */
    focusRow(index) {
        if (index < 0 || index >= this.rows) return;
        const top = index * ROW, view = this.element.clientHeight;
        if (top < this.top) this.element.scrollTop = top / this.scale;
        else if (top + ROW > this.top + view) this.element.scrollTop = (top + ROW - view) / this.scale;
        this.draw();
        this.window.querySelector(`[data-index="${index}"]`)?.focus({preventScroll: true});
    }

    key(event) {
        const on = event.target.closest?.("[data-index]"), view = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
        const step = {ArrowDown: 1, ArrowUp: -1, PageDown: view, PageUp: -view}[event.key];
        if (event.key === "Home") this.focusRow(0);
        else if (event.key === "End") this.focusRow(this.rows - 1);
        else if (step !== undefined) this.focusRow(Math.min(Math.max(on ? Number(on.dataset.index) + step : Math.ceil(this.top / ROW), 0), this.rows - 1));
        else return;
        event.preventDefault();
    }

    select(id) {
        this.selected = id;
        for (const [row, element] of this.drawn) element.toggleAttribute("aria-current", row === id);
    }
}
