import { escaped, page } from "./html.js";

type Language = "en" | "zh";

/** A story that was recorded. */
export interface Recorded {
  readonly id: string;
  readonly title: Readonly<Record<Language, string>>;
  readonly group: "commands" | "labs" | "incidents";
  /** the command line that tells it */
  readonly command: string;
  readonly lab: string;
  readonly steps: number;
}

const WORDS = {
  en: {
    title: "kubelab: a kubelet you can read",
    lead: "Stories from real runs, each as a page: numbered steps, one sentence each, with the picture of the cluster beside them. Nothing here needs an installation; the commands below let you do it yourself.",
    commands: "Commands",
    labs: "Labs",
    incidents: "Incidents",
    docs: "Documentation",
    steps: "{n} steps",
    other: '<a href="index.zh.html" lang="zh">中文</a>',
  },
  zh: {
    title: "kubelab：一个读得懂的 kubelet",
    lead: "真实运行的记录，每个是一页：步骤有编号，每步一句话，旁边是集群的图。看这些不需要安装；用下面的命令可以自己来做。",
    commands: "命令",
    labs: "实验",
    incidents: "故障",
    docs: "文档",
    steps: "{n} 步",
    other: '<a href="index.html" lang="en">English</a>',
  },
} as const;

/** The page that lists the stories. */
export function indexPage(
  language: Language,
  stories: readonly Recorded[],
  docs: readonly { readonly file: string; readonly title: string }[],
): string {
  const words = WORDS[language];
  const code = (text: string) => `<code>${escaped(text)}</code>`;
  const item = ({ id, title, command, lab, steps }: Recorded) =>
    `<li><a href="stories/${id}.${language}.html">${escaped(title[language])}</a>
<p>${words.steps.replace("{n}", String(steps))}</p>
<p>${[command, `kubelab learn start ${lab}`]
      .filter((one, i, all) => all.indexOf(one) === i)
      .map(code)
      .join("<br>")}</p></li>`;
  const groups = (["commands", "labs", "incidents"] as const).map((group) => {
    const items = stories.filter((one) => one.group === group).map(item);
    return items.length === 0 ? "" : `<h2>${words[group]}</h2>\n<ul class="stories">\n${items.join("\n")}\n</ul>`;
  });
  const pages = docs.map(({ file, title }) => `<li><a href="${file}">${escaped(title)}</a></li>`);
  const body = [
    `<p>${words.other}</p>`,
    `<h1>${words.title}</h1>`,
    `<p>${words.lead}</p>`,
    `<pre>npx kubelab learn</pre>`,
    ...groups,
    `<h2>${words.docs}</h2>\n<ul>\n${pages.join("\n")}\n</ul>`,
  ];
  return page({ language, title: words.title, up: "", body: body.join("\n") });
}
