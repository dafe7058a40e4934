import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Compiled, compileLab } from "../../src/lab/labs/format/compile.js";
import type { Lab } from "../../src/lab/labs/format/lab.js";

/** A lab with one step of each kind, for tests to break. */
export const TINY_YAML = `format: 1
id: tiny
number: "7"
kind: chapter
minutes: 5
vars:
  node: { oneOf: [atlas, draco] }
setup:
  - run: kubelab lab begin
begin:
  - { list: /api/v1/nodes, is: 0 }
steps:
  - id: look
    read: true
  - id: join
    do: kubelab join {{node}}
    expect: { object: "/api/v1/nodes/{{node}}" }
  - id: lines
    observe: join
    lines: ["joined \\\\w+"]
    upstream: pkg/kubelet/kubelet.go syncLoop
  - id: guess
    predict: [stays, goes]
    run:
      - run: kubectl delete node {{node}}
    outcomes:
      stays: { object: "/api/v1/nodes/{{node}}", exists: true }
      goes: { object: "/api/v1/nodes/{{node}}", exists: false }
  - id: back
    check: { object: "/api/v1/nodes/{{node}}", within: 60s }
    solve:
      - run: kubelab join {{node}}
`;

export const TINY_EN = `# A tiny lab
One sentence about it.

What it is about.

## look: Look around
There is nothing yet.

## join: Join
Join {{node}} with \`kubelab join\`.

### afterwards
It has joined.

## lines: Lines
See what it said.

## guess: Guess
What happens to {{node}}?

### choices
- stays: it stays
- goes: it goes

## back: Bring it back
Bring {{node}} back.

### hints
1. Something made it come the first time.
2. \`kubelab join {{node}}\`

### goal
{{node}} is back

## debrief
That was all.
`;

export const TINY_ZH = `# 小实验
一句话说明。

介绍。

## look: 看一看
现在什么都没有。

## join: 加入
用 \`kubelab join\` 加入 {{node}}。

### afterwards
已经加入。

## lines: 输出
看看它说了什么。

## guess: 猜一猜
{{node}} 会怎样?

### choices
- stays: 留下
- goes: 离开

## back: 恢复
让 {{node}} 回来。

### hints
1. 第一次它是怎么来的?
2. \`kubelab join {{node}}\`

### goal
{{node}} 回来了

## debrief
就是这些。
`;

export interface LabFiles {
  readonly "lab.yaml"?: string;
  readonly "en.md"?: string;
  readonly "zh.md"?: string;
}

/** Writes a lab's folder: the tiny lab with the given files replaced. @returns the folder of labs */
export function writeTinyLab(files: LabFiles = {}, name = "07-tiny"): string {
  const root = mkdtempSync(join(tmpdir(), "kubelab-tiny-"));
  const folder = join(root, name);
  mkdirSync(folder);
  const all = { "lab.yaml": TINY_YAML, "en.md": TINY_EN, "zh.md": TINY_ZH, ...files };
  for (const [file, text] of Object.entries(all)) writeFileSync(join(folder, file), text);
  return root;
}

export function compileTiny(files: LabFiles = {}, name = "07-tiny"): Promise<Compiled> {
  return compileLab(join(writeTinyLab(files, name), name));
}

/** @throws Error with the lab's errors */
export async function tinyLab(yaml = TINY_YAML, texts: Omit<LabFiles, "lab.yaml"> = {}): Promise<Lab> {
  const { lab, problems } = await compileTiny({ "lab.yaml": yaml, ...texts });
  if (lab === undefined) throw new Error(problems.map(({ line, message }) => `${line}: ${message}`).join("\n"));
  return lab;
}
