// The files of a sandbox in the browser.
import {readFileSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {axe, ensure, same, sleep, test, until} from "./harness.mjs";

const HOSTILE = ["<img src=x onerror=alert(1)>.txt", "exe\u202egnp.txt", "new\nline.txt", "  spaces  ", "-rf", "\u200b"];
const PICTURE = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC", "base64");

class Box {
    static async make(daemon) { return Object.assign(new Box(), {daemon, id: (await daemon.api("/v1/sandboxes", {method: "POST", body: {}})).id}); }
    url(path, more = "") { return `${this.daemon.url}/v1/sandboxes/${this.id}/files?path=${encodeURIComponent(path)}${more}`; }
    async put(path, data) { ensure((await fetch(this.url(path), {method: "PUT", body: data})).ok, `writing ${path}`); }
    async get(path) { const r = await fetch(this.url(path)); return r.ok ? r.text() : null; }
    // The page may ask for its files once more, and the browser complain: unless that is wanted, it goes first.
    async end(page) {
        await page?.goto("about:blank");
        await this.daemon.api(`/v1/sandboxes/${this.id}`, {method: "DELETE"});
    }
}

const file = (page, name) => page.locator(".file-name").filter({hasText: name});
const close = (page) => page.getByRole("button", {name: "Close the file"}).click();

test("folders can be opened, text and pictures are shown, hostile names are text", async (t) => {
    const box = await Box.make(t.daemon);
    for (const name of HOSTILE) await box.put(`/workspace/${name}`, "x");
    await box.put("/workspace/deep/er/app.py", "print('hello')\n");
    await box.put("/workspace/pic.png", PICTURE);
    await box.put("/workspace/bytes.bin", Buffer.from([0, 1, 2, 255]));
    const page = await t.page(`/#/files/${box.id}`);
    await file(page, "deep").waitFor();
    const names = (await page.locator(".file-name > span:first-of-type").allInnerTexts()).slice(1);
    for (const shown of ["<img src=x onerror=alert(1)>.txt", "exeU+202Egnp.txt", "new\\nline.txt", "-rf", "U+200B"]) ensure(names.includes(shown), `${JSON.stringify(shown)} among ${JSON.stringify(names)}`);
    same(await page.locator(".files-table img").count(), 0, "elements made from names");
    await file(page, "bytes.bin").click();
    await page.getByText("The file is not text (4 bytes)").waitFor();
    await close(page);
    await file(page, "pic.png").click();
    await until(() => page.locator(".file-picture").evaluate((image) => image.naturalWidth === 10), "the picture");
    await axe(page);
    await close(page);
    await file(page, "deep").click();
    await file(page, "er").waitFor();
    await page.keyboard.press("Tab");
    await file(page, "er").click();
    await file(page, "app.py").click();
    same(await page.inputValue(".editor-input"), "print('hello')\n", "its text");
    await page.reload();
    await page.waitForSelector(".editor-input");
    ensure(page.url().includes("path=%2Fworkspace%2Fdeep%2Fer"), page.url());
    await page.getByRole("button", {name: "workspace"}).click();
    await file(page, "deep").waitFor();
    await box.end(page);
});

test("a file is edited and saved, and a file that changed meanwhile is not overwritten without a question", async (t) => {
    const box = await Box.make(t.daemon);
    await box.put("/workspace/a.txt", "one\n");
    const page = await t.page(`/#/files/${box.id}?file=/workspace/a.txt`, {expects: ["412"]});
    await page.waitForSelector(".editor-input");
    await page.fill(".editor-input", "two\n");
    await page.getByText("Not saved").waitFor();
    await page.locator(".editor-input").press("Control+s");
    await page.getByText("Saved", {exact: true}).waitFor();
    same(await box.get("/workspace/a.txt"), "two\n", "what was saved");
    await page.fill(".editor-input", "three\n");
    await page.getByRole("button", {name: "Save"}).click();
    await page.getByText("Saved", {exact: true}).waitFor();
    await box.put("/workspace/a.txt", "theirs\n");
    await page.fill(".editor-input", "mine\n");
    await page.getByRole("button", {name: "Save"}).click();
    await page.getByRole("heading", {name: "The file was changed meanwhile"}).waitFor();
    await page.getByRole("button", {name: "Cancel"}).click();
    same(await box.get("/workspace/a.txt"), "theirs\n", "theirs is still there");
    same(await page.inputValue(".editor-input"), "mine\n", "and mine");
    await page.getByRole("button", {name: "Save"}).click();
    await page.getByRole("button", {name: "Overwrite"}).click();
    await until(async () => await box.get("/workspace/a.txt") === "mine\n", "it is overwritten when asked for");
    await page.getByText("Saved", {exact: true}).waitFor();
    await page.fill(".editor-input", "lost?\n");
    await page.getByRole("button", {name: "Close the file"}).click();
    await page.getByRole("button", {name: "Cancel"}).click();
    same(await page.inputValue(".editor-input"), "lost?\n", "what was not saved is not lost");
    await box.end(page);
});

test("files are uploaded, downloaded, renamed and deleted, and changes by code are shown without a reload", async (t) => {
    const box = await Box.make(t.daemon), page = await t.page(`/#/files/${box.id}`, {expects: ["400", "404"]});
    await page.getByText("This folder is empty").waitFor();
    const local = join(t.daemon.directory, "upload.txt");
    writeFileSync(local, "from outside\n");
    await page.setInputFiles('input[type="file"]', local);
    await file(page, "upload.txt").waitFor();
    same(await box.get("/workspace/upload.txt"), "from outside\n", "what was uploaded");
    await page.evaluate(() => {
        const data = new DataTransfer();
        data.items.add(new File(["dropped\n"], "dropped.txt"));
        document.querySelector(".files-card").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
    });
    await file(page, "dropped.txt").waitFor();
    const [got] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", {name: "Download dropped.txt"}).click()]);
    same(readFileSync(await got.path(), "utf8"), "dropped\n", "what was downloaded");
    await page.getByRole("button", {name: "Rename dropped.txt"}).click();
    await page.fill("#ask", "renamed.txt");
    await page.keyboard.press("Enter");
    await file(page, "renamed.txt").waitFor();
    await page.getByRole("button", {name: "New folder"}).click();
    await page.fill("#ask", "folder");
    await page.keyboard.press("Enter");
    await file(page, "folder").waitFor();
    await page.getByRole("button", {name: "Rename renamed.txt"}).click();
    await page.fill("#ask", "upload.txt"); // is there already
    await page.keyboard.press("Enter");
    await page.locator(".toast-bad").waitFor();
    same(await box.get("/workspace/upload.txt"), "from outside\n", "the one that was there");
    await page.getByRole("button", {name: "Delete renamed.txt"}).click();
    await page.getByRole("button", {name: "Delete", exact: true}).click();
    await file(page, "renamed.txt").waitFor({state: "detached"});
    same(await box.get("/workspace/renamed.txt"), null, "it is gone");
    await t.daemon.api(`/v1/sandboxes/${box.id}/exec`, {method: "POST", body: {runtime: "sh", code: "echo inside >made-inside.txt"}});
    await file(page, "made-inside.txt").waitFor();
    const [tar] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", {name: "Download this folder"}).click()]);
    ensure(readFileSync(await tar.path()).includes("made-inside.txt"), "the archive");
    await box.end();
    await page.getByText("The sandbox and all its files are gone.").waitFor();
});

test("a click on a file works while code writes another file", async (t) => {
    const box = await Box.make(t.daemon);
    await box.put("/workspace/steady.txt", "here\n");
    const page = await t.page("/#/files");
    const watched = page.waitForResponse((response) => response.url().includes("watch=1"));
    await page.goto(`${t.daemon.url}/#/files/${box.id}`);
    await watched;
    await page.mouse.down({button: "right"}); // in most browsers a menu takes its end, which is not waited for
    await box.put("/workspace/first.txt", "x");
    await file(page, "first.txt").waitFor();
    await page.mouse.up({button: "right"});
    await file(page, "steady.txt").hover();
    await page.mouse.down();
    const listed = page.waitForResponse((response) => response.url().includes("list=1"));
    await box.put("/workspace/other.txt", "x");
    await listed;
    await sleep(100); // it would have been shown
    same(await file(page, "other.txt").count(), 0, "shown while a button is down");
    await page.mouse.up();
    await page.waitForSelector(".editor-input");
    await file(page, "other.txt").waitFor();
    await box.end(page);
});

test("leaving a page with unsaved changes asks first; a dialog ends with its page", async (t) => {
    const box = await Box.make(t.daemon);
    await box.put("/workspace/a.txt", "one\n");
    const page = await t.page("/#/files"), back = () => page.evaluate(() => history.back());
    await page.locator(`a[href="#/files/${box.id}"]`).click();
    await file(page, "a.txt").click();
    await page.fill(".editor-input", "precious\n");
    const stays = async () => {
        await page.getByRole("heading", {name: "Leave without saving?"}).waitFor();
        await page.getByRole("button", {name: "Cancel"}).click();
        await until(() => page.url().includes(`#/files/${box.id}?`) && page.url().includes("a.txt"), "the address is the old one");
        same(await page.inputValue(".editor-input"), "precious\n", "what was written");
    };
    await page.click(".side nav >> text=Monitor");
    await stays();
    await back();
    await stays();
    await back();
    await page.getByRole("button", {name: "Leave it"}).click();
    await page.waitForSelector("main.page-monitor > *");
    same(await box.get("/workspace/a.txt"), "one\n", "nothing was saved");
    await page.goto(`${t.daemon.url}/#/files/${box.id}`);
    await file(page, "a.txt").waitFor();
    await page.getByRole("button", {name: "New folder"}).click();
    await page.locator("dialog[open]").waitFor();
    await back();
    await page.waitForSelector("main.page-monitor > *");
    same(await page.locator("dialog").count(), 0, "dialogs");
    await box.end(page);
});

test("on a phone the files are one column; a missing path is reported", async (t) => {
    const box = await Box.make(t.daemon);
    await box.put("/workspace/a.py", "x = 1\n");
    const page = await t.page(`/#/files/${box.id}?path=/nowhere`, {width: 390, height: 844, theme: "dark", expects: ["404"]});
    await page.getByRole("button", {name: "Up", exact: true}).click();
    await file(page, "workspace").click();
    await file(page, "a.py").click();
    await page.waitForSelector(".editor-input");
    ensure(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it is wider than the window");
    await axe(page);
    await box.end(page);
});
