import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileErrorMessage } from "../../../util/i18n/file-error.js";
import { formatMessage, LocalizedError } from "../../../util/i18n/message-error.js";
import { pathFrom } from "../../../util/os/paths.js";
import type { LearnContext } from "../context.js";

/**
 * Writes a lab of the learner's own to begin with, which can be played at once.
 * @throws LabError USAGE for a name that gives no id; BAD_FILE for a folder that is not empty or cannot be written
 */
export async function newLab({ context, say }: LearnContext, folder: string): Promise<void> {
  const path = pathFrom(context.cwd, folder);
  const id = basename(path).toLowerCase().replace(/^\d+-/, "");
  if (!/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(id)) {
    throw new LocalizedError("USAGE", say("newLabName", { folder }), say("newLabNameHint"));
  }
  try {
    await mkdir(path, { recursive: true });
    if ((await readdir(path)).length > 0) {
      throw new LocalizedError("BAD_FILE", say("newLabTaken", { folder }), say("newLabTakenHint"));
    }
    for (const [name, text] of Object.entries(filesOf(id))) await writeFile(join(path, name), text);
  } catch (cause) {
    if (cause instanceof LocalizedError) throw cause;
    const message = say("fileUnwritable", { file: folder, why: formatMessage(fileErrorMessage(cause), say) });
    throw new LocalizedError("BAD_FILE", message, say("exportFolderHint"), { cause });
  }
  const word = folder.includes("/") ? folder : `./${folder}`;
  context.streams.stdout.write(`${say("newLabMade", { folder: word })}\n`);
}

function filesOf(id: string): Readonly<Record<string, string>> {
  return {
    "lab.yaml": `# The format: docs/labs.md. Look for mistakes with kubelab learn check-labs, play it with kubelab learn start.
format: 1
id: ${id}
number: "9"
kind: chapter
minutes: 5
vars:
  space: { oneOf: [amber, coral, ivory] }
begin:
  - { object: "/api/v1/namespaces/{{space}}", exists: false }
steps:
  - id: make
    do: kubectl create namespace {{space}}
    expect: { object: "/api/v1/namespaces/{{space}}" }
  - id: phase
    predict: [active, empty]
    run:
      - run: kubectl get namespace {{space}}
    outcomes:
      active: { object: "/api/v1/namespaces/{{space}}", field: status.phase, is: Active }
      empty: { object: "/api/v1/namespaces/{{space}}", field: status.phase, exists: false }
  - id: label
    check: { object: "/api/v1/namespaces/{{space}}", field: metadata.labels.team, is: kubelab }
    solve:
      - run: kubectl label namespace {{space}} team=kubelab
`,
    "en.md": `# A lab of my own
One sentence about it, for the menu.

An introduction: what the learner will see, and why it matters.

## make: A namespace
Make a namespace named {{space}}.

## phase: Its phase
What is the phase of a namespace that was just made?

### choices
- active: Active
- empty: None yet

### afterwards
Say why.

## label: A task
Give {{space}} the label team=kubelab.

### hints
1. Labels are metadata.
2. \`kubectl label namespace {{space}} team=kubelab\`

### goal
{{space}} has the label team=kubelab

## debrief
What it was about.

## known
- The first thing that the learner now knows.
- The second.
- The third.
`,
    "zh.md": `# 我自己的实验
一句话说明，用于菜单。

介绍：学习者会看到什么，为什么重要。

## make: 一个 namespace
创建名为 {{space}} 的 namespace。

## phase: 它的 phase
刚创建的 namespace，phase 是什么？

### choices
- active: Active
- empty: 还没有

### afterwards
说明原因。

## label: 一个任务
给 {{space}} 加上 label team=kubelab。

### hints
1. label 属于 metadata。
2. \`kubectl label namespace {{space}} team=kubelab\`

### goal
{{space}} 有 label team=kubelab

## debrief
回顾。

## known
- 学习者现在知道的第一点。
- 第二点。
- 第三点。
`,
  };
}
