import { useEffect, useRef } from "preact/hooks";
import { printable } from "../../../../terminal/text.js";
import type { LabPart, LabView } from "../../../live-protocol.js";
import { say } from "../../language.js";
import type { Live } from "../live.js";
import { Markdown, spans } from "./markdown.js";

interface LabProps {
  readonly live: Live;
  readonly lab: LabView;
}

/** The lab that is played at the terminal: its text, and buttons that answer the terminal's prompt. */
export function LabPanel({ live, lab }: LabProps) {
  const texts = useRef<HTMLDivElement>(null);
  const shown = useRef({ title: "", count: 0 });
  const { length } = lab.parts;
  const title = lab.parts.find(({ kind }) => kind === "heading")?.text ?? "";
  useEffect(() => {
    const before = shown.current.title === title ? shown.current.count : 0;
    shown.current = { title, count: length };
    const first = texts.current?.children[before];
    if (!(first instanceof HTMLElement) || texts.current === null) return;
    // What is new begins at the top, and a new step at its title. On a narrow page everything scrolls together.
    if (isNarrow()) first.scrollIntoView({ block: "nearest" });
    else texts.current.scrollTop = first.offsetTop - texts.current.offsetTop;
  }, [title, length]);
  return (
    <section class="lab" aria-label={lab.title}>
      <h2>{lab.title}</h2>
      <Progress lab={lab} />
      <Previous lab={lab} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <div class="lab-parts" role="log" tabIndex={0} ref={texts}>
        {lab.parts.map((part, i) => (
          <Part key={`${title} ${i}`} part={part} />
        ))}
      </div>
      <Answers live={live} lab={lab} />
    </section>
  );
}

const isNarrow = () => matchMedia("(max-width: 56rem)").matches;

function Progress({ lab: { steps } }: { readonly lab: LabView }) {
  const done = steps.filter(({ state }) => state === "done").length;
  return (
    <details class="lab-steps">
      <summary>
        {say("{1} of {2} steps done", done, steps.length)} <progress value={done} max={steps.length} />
      </summary>
      <ol>
        {steps.map(({ title, state }) => (
          <li key={title} class={state} aria-current={state === "now" ? "step" : undefined}>
            {title} {state === "done" && <b title={say("done")}>✓</b>}
          </li>
        ))}
      </ol>
    </details>
  );
}

/** The step before: its verdict and evidence come when the page goes on. */
function Previous({ lab: { previous } }: { readonly lab: LabView }) {
  if (previous.length === 0) return null;
  const title = previous.find(({ kind }) => kind === "heading")?.text ?? "";
  return (
    <details class="lab-previous">
      <summary>{say("The step before: {1}", printable(title))}</summary>
      <div class="lab-parts">
        {previous.map((part, i) => (
          <Part key={`${title} ${i}`} part={part} />
        ))}
      </div>
    </details>
  );
}

function Part({ part: { kind, text } }: { readonly part: LabPart }) {
  const shown = printable(text);
  switch (kind) {
    case "heading":
      return <h3>{shown}</h3>;
    case "text":
      return (
        <div>
          <Markdown text={shown} />
        </div>
      );
    case "command":
      return <pre class="command">$ {shown.trimEnd()}</pre>;
    case "output":
      return <pre>{shown.trimEnd()}</pre>;
    default:
      return <p class={kind}>{shown}</p>;
  }
}

/** What the terminal's prompt asks, and its choices and keys as buttons. */
function Answers({ live, lab }: LabProps) {
  const keys = live.keys.value;
  const isChoice = (key: string) => lab.choices.some((one) => one.key === key);
  const choices = lab.choices.filter(({ key }) => keys.some((one) => one.key === key));
  const answers = useRef<HTMLDivElement>(null);
  const press = async (key: string) => {
    await live.press(key);
    // The pressed button goes, and keys work outside of buttons only.
    if (answers.current?.contains(document.activeElement) === true) answers.current.focus();
  };
  return (
    <div class="answers" tabIndex={-1} ref={answers}>
      <p class="lab-waiting" role="status">
        {lab.waiting}
      </p>
      {keys.length > 0 && lab.asks.map((line) => <p key={line}>{printable(line)}</p>)}
      {choices.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend
        <div class="lab-choices" role="group" aria-label={lab.asks.join(" ")}>
          {choices.map(({ key, text }) => (
            <button key={key} type="button" onClick={() => void press(key)}>
              <kbd>{key}</kbd> <span>{spans(printable(text))}</span>
            </button>
          ))}
        </div>
      )}
      <div class="keys" role="toolbar" aria-label={say("Step")}>
        {keys
          .filter(({ key }) => !isChoice(key))
          .map(({ key, short, label }) => (
            <button key={key} type="button" title={label} onClick={() => void press(key)}>
              <kbd>{key === "Escape" ? "Esc" : key}</kbd> {short}
            </button>
          ))}
      </div>
      {keys.length === 0 && lab.waiting === "" && <p class="dim">{say("The terminal is at work.")}</p>}
      {live.refusal.value !== "" && <p role="alert">{live.refusal.value}</p>}
    </div>
  );
}
