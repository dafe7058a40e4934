import type { Language } from "../../util/i18n/language.js";
import type { Got, Wanted } from "./runner/messages.js";

/** The sentences of `kubelab build` that do not belong to a task. */
export interface BuildWords {
  readonly asUpstream: string;
  readonly howToCheck: string;
  stageTitle(number: number, count: number, title: string): string;
  /** what the last call must come to, and what came of it */
  differs(call: string, want: Wanted, got: Got): readonly string[];
  after(calls: string): string;
  /** what the fakes of the case answered */
  given(answers: string): string;
  golden(number: number, count: number, release: string): string;
  unloadable(text: string, place: string): string;
  readonly typeInFile: string;
  absent(name: string): string;
  neverLoads(name: string): string;
  tooSlow(call: string, seconds: number): string;
  outOfMemory(call: string): string;
  exits(call: string, exitCode: string): string;
  disturbed(call: string): string;
  printed(count: number): string;
  more(count: number): string;
}

const NO_CALL = { en: "no further call", zh: "没有更多调用" };

const EN: BuildWords = {
  asUpstream: "The same in Kubernetes:",
  howToCheck: "Save this file while `kubelab build watch` runs, or run `kubelab build check` in this folder.",
  stageTitle: (number, count, title) => `Stage ${number} of ${count}: ${title}`,
  differs: (call, want, got) => differsIn("en", call, want, got),
  after: (calls) => `after ${calls}`,
  given: (answers) => `answers: ${answers}`,
  golden: (number, count, release) =>
    `Case ${number} of ${count} that the code of Kubernetes ${release} was recorded with:`,
  unloadable: (text, place) => `${place} cannot be loaded: ${text}`,
  typeInFile:
    "If this line has a type of TypeScript: the file is JavaScript, and its types are JSDoc comments (@param).",
  absent: (name) => `${name} is not there any more: write it again, or begin anew in another folder`,
  neverLoads: (name) => `${name} never gets loaded: an await outside of its functions waits for what never comes`,
  tooSlow: (call, seconds) => `${call} did not come back within ${seconds} s, and was ended: is there an endless loop?`,
  outOfMemory: (call) => `${call} needed more memory than it may have, and was ended: does a list grow without end?`,
  exits: (call, exitCode) =>
    `${call} ended the process (exit code ${exitCode}): a part of the kubelet returns or throws`,
  disturbed: (call) =>
    `${call} disturbed the process that calls it, and was ended: does your file change JSON, Array or another built-in?`,
  printed: (count) => (count === 1 ? "Your file printed 1 line:" : `Your file printed ${count} lines:`),
  more: (count) => `... ${count} more`,
};

const ZH: BuildWords = {
  asUpstream: "Kubernetes 中的同一部分：",
  howToCheck: "运行 `kubelab build watch` 时保存本文件即可，或者在这个文件夹中运行 `kubelab build check`。",
  stageTitle: (number, count, title) => `第 ${number} 阶段，共 ${count} 个：${title}`,
  differs: (call, want, got) => differsIn("zh", call, want, got),
  after: (calls) => `在 ${calls} 之后`,
  given: (answers) => `得到的回答：${answers}`,
  golden: (number, count, release) => `Kubernetes ${release} 代码的录制案例，第 ${number} 个，共 ${count} 个：`,
  unloadable: (text, place) => `无法加载 ${place}：${text}`,
  typeInFile: "如果这一行写的是 TypeScript 类型：本文件是 JavaScript，类型写在 JSDoc 注释里（@param）。",
  absent: (name) => `${name} 已经不在了：请重新写它，或者在另一个文件夹重新开始`,
  neverLoads: (name) => `${name} 一直加载不完：函数之外的 await 在等待永远不会来的结果`,
  tooSlow: (call, seconds) => `${call} 在 ${seconds} 秒内没有返回，已被终止：是不是有死循环？`,
  outOfMemory: (call) => `${call} 用的内存超过了限制，已被终止：是不是有列表无限增长？`,
  exits: (call, exitCode) => `${call} 结束了进程（退出码 ${exitCode}）：kubelet 的一部分应当返回或抛出错误`,
  disturbed: (call) => `${call} 干扰了调用它的进程，已被终止：你的文件是否改动了 JSON、Array 或其他内建对象？`,
  printed: (count) => `你的文件打印了 ${count} 行：`,
  more: (count) => `…… 还有 ${count} 行`,
};

export const WORDS: Readonly<Record<Language, BuildWords>> = { en: EN, zh: ZH };

function differsIn(language: Language, call: string, want: Wanted, got: Got): readonly string[] {
  const isEnglish = language === "en";
  switch (got.kind) {
    case "not-written":
      return [isEnglish ? `${call}: this part is not written yet` : `${call}：这一部分还没有写`];
    case "not-exported": {
      const [name = call] = call.split("(");
      return [isEnglish ? `your file does not export ${name}` : `你的文件没有导出 ${name}`];
    }
    case "no-method": {
      const [name = call] = call.split("(");
      return [isEnglish ? `your object has no method ${name}` : `你的对象没有方法 ${name}`];
    }
    case "swallows-abort":
      return [
        isEnglish
          ? `${call} goes on after it was stopped: let the AbortError of a sleep or of a request pass`
          : `${call} 被停止之后仍在继续：请让 sleep 或请求的 AbortError 继续向上抛出`,
      ];
    case "never-ends":
      return [
        isEnglish
          ? `${call} never ends: it awaits a promise that nothing resolves`
          : `${call} 永远不会结束：它在等待一个没有人兑现的 promise`,
      ];
    case "promise":
      return [
        wantedIn(language, call, want),
        isEnglish
          ? "yours gave a Promise; the function must give the value itself: leave out async and await"
          : "你的得到一个 Promise；函数必须直接给出值：请去掉 async 和 await",
      ];
    case "too-early":
      return [
        isEnglish
          ? `${call} calls\n  ${got.text}\nwhile ${got.sleep} is not over: is there an await missing before the sleep?`
          : `${call} 在 ${got.sleep} 还没有结束时调用了\n  ${got.text}\nsleep 前面是不是少了 await？`,
      ].flatMap((one) => one.split("\n"));
    case "changes-argument":
      return [
        isEnglish
          ? `${call} changes what it was given${lineOf(language, got.at)}: make a copy and change that`
          : `${call} 修改了传给它的值${lineOf(language, got.at)}：请复制一份再修改`,
      ];
    default:
      return [wantedIn(language, call, want), gotIn(language, got)].flatMap((one) => one.split("\n"));
  }
}

function wantedIn(language: Language, call: string, want: Wanted): string {
  const isEnglish = language === "en";
  switch (want.kind) {
    case "waits":
      return isEnglish ? `${call} must wait` : `${call} 必须等待`;
    case "error":
      return isEnglish
        ? `${call} must throw an error with "${want.text}"`
        : `${call} 必须抛出含有 "${want.text}" 的错误`;
    case "call": {
      const what = want.text ?? NO_CALL[language];
      return isEnglish
        ? `${call}: call number ${want.number} must be\n  ${what}`
        : `${call}：第 ${want.number} 个调用必须是\n  ${what}`;
    }
    case "releases":
      return isEnglish
        ? `${call} must release ${want.text || "no waiting call"}`
        : `${call} ${want.text ? `必须放行 ${want.text}` : "不能放行任何等待中的调用"}`;
    case "value":
      return isEnglish ? `${call} must give ${want.text}` : `${call} 必须得到 ${want.text}`;
  }
}

function gotIn(language: Language, got: Got): string {
  const isEnglish = language === "en";
  switch (got.kind) {
    case "waits":
      return isEnglish ? "yours waits" : "你的一直在等待";
    case "error":
      return isEnglish
        ? `yours threw ${got.text}${lineOf(language, got.at)}`
        : `你的抛出了 ${got.text}${lineOf(language, got.at)}`;
    case "call":
      return `${isEnglish ? "yours was" : "你的是"}\n  ${got.text ?? NO_CALL[language]}`;
    case "releases":
      return isEnglish
        ? `yours released ${got.text || "none"}`
        : got.text
          ? `你的放行了 ${got.text}`
          : "你的没有放行任何调用";
    case "value":
      return isEnglish ? `yours gave ${got.text}` : `你的得到 ${got.text}`;
    default:
      return got.kind;
  }
}

function lineOf(language: Language, at: number | undefined): string {
  if (at === undefined) return "";
  return language === "en" ? ` (line ${at})` : `（第 ${at} 行）`;
}
