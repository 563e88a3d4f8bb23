// Copies the built files of pinned packages into ../static/vendor, with their
// licences, so that building the server needs no Node.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const out = new URL("../static/vendor/", import.meta.url);
const modules = new URL("./node_modules/", import.meta.url);
mkdirSync(out, { recursive: true });

const htmx = new URL("htmx.org/", modules);
const { version } = JSON.parse(readFileSync(new URL("package.json", htmx), "utf8"));
const body = readFileSync(new URL("dist/htmx.min.js", htmx), "utf8").replace(/\n?\/\/# sourceMappingURL=.*\s*$/, "\n");
writeFileSync(new URL("htmx.min.js", out), `/*! htmx ${version} | Zero-Clause BSD | see htmx.LICENSE */\n${body}`);
copyFileSync(new URL("LICENSE", htmx), new URL("htmx.LICENSE", out));
