// `npm run record-session`: plays an incident and writes what it prints to README, between two marks.
import { readFile, writeFile } from "node:fs/promises";
import { recordSession, withSession } from "./session-text.js";

const README = "README.md";
const before = await readFile(README, "utf8");
await writeFile(README, withSession(before, await recordSession()));
process.stdout.write(`${README} is current\n`);
