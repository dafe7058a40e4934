import type { Language } from "../../util/i18n/language.js";

const EN = {
  columns: ["no.", "task", "stages", "points", "minutes", "what you write"],
  begin: (id: string) => `Begin: kubelab build start ${id}`,
  allDone: "All tasks are done. Next: kubelab grade, a whole node agent in any language.",
  made: (file: string) => `${file} is yours to write.`,
  next: (folder: string) =>
    `kubelab build watch ${folder}    judges each save (or once: kubelab build check ${folder})`,
  labs: (labs: string) => `Labs of the same chapter: ${labs}`,
  passed: (stage: string) => `✓ ${stage}`,
  wrong: (stage: string) => `✗ ${stage}`,
  golden: (count: number, release: string) => `${count} cases that the code of Kubernetes ${release} was recorded with`,
  done: (task: string, points: number, most: number) => `${task} is done: ${points} of ${most} points.`,
  nextTask: (id: string) => `Next: kubelab build start ${id}`,
  hint: (number: number, count: number, stage: string) => `Hint ${number} of ${count} for "${stage}":`,
  noHint: (task: string) => `Every stage of ${task} passes: there is nothing to hint at.`,
  lastHint: "That was the last hint: kubelab build show prints kubelab's own module.",
  upstream: "The same in Kubernetes:",
  forgotten: (task: string) => `The progress of ${task} is forgotten. Your file is unchanged.`,
  watching: (file: string) => `Watching ${file}: each save is judged. Ctrl-C ends it.`,
};

const ZH: typeof EN = {
  columns: ["序号", "任务", "阶段", "得分", "分钟", "要写什么"],
  begin: (id) => `开始：kubelab build start ${id}`,
  allDone: "所有任务都完成了。下一步：kubelab grade，用任何语言写一个完整的节点代理。",
  made: (file) => `${file} 由你来写。`,
  next: (folder) => `kubelab build watch ${folder}    每次保存都会评判（只评判一次：kubelab build check ${folder}）`,
  labs: (labs) => `同一章的实验：${labs}`,
  passed: (stage) => `✓ ${stage}`,
  wrong: (stage) => `✗ ${stage}`,
  golden: (count, release) => `Kubernetes ${release} 代码的 ${count} 个录制案例`,
  done: (task, points, most) => `${task} 已完成：${points} 分，满分 ${most} 分。`,
  nextTask: (id) => `下一个：kubelab build start ${id}`,
  hint: (number, count, stage) => `“${stage}” 的提示 ${number}，共 ${count} 个：`,
  noHint: (task) => `${task} 的每个阶段都通过了：没有可以提示的。`,
  lastHint: "这是最后一个提示：kubelab build show 会打印 kubelab 自己的模块。",
  upstream: "Kubernetes 中的同一部分：",
  forgotten: (task) => `${task} 的进度已清除。你的文件没有改动。`,
  watching: (file) => `正在监视 ${file}：每次保存都会评判。按 Ctrl-C 结束。`,
};

/** What `kubelab build` prints around the sentences of tasks. */
export const COMMAND_WORDS: Readonly<Record<Language, typeof EN>> = { en: EN, zh: ZH };
