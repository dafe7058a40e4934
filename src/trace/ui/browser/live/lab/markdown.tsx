import { markdownBlocks, markdownSpans } from "../../../../../util/text/markdown.js";

/** Markdown as elements. Texts become text nodes only, so nothing in them can be HTML. */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <>
      {markdownBlocks(text).map((block, i) => {
        const key = `${i}`;
        if (block.kind === "list") {
          const items = block.items.map((item) => <li key={item.text}>{spans(item.text)}</li>);
          return block.items[0]?.mark === "-" ? <ul key={key}>{items}</ul> : <ol key={key}>{items}</ol>;
        }
        if (block.kind === "heading") return <h4 key={key}>{block.text}</h4>;
        return block.kind === "code" ? <pre key={key}>{block.text}</pre> : <p key={key}>{spans(block.text)}</p>;
      })}
    </>
  );
}

/** The parts of one paragraph. */
export function spans(text: string) {
  return markdownSpans(text).map(({ text: words, isCode, mark }, i) => {
    const key = `${i}`;
    const inner = isCode ? <code key={key}>{words}</code> : words;
    if (mark === "strong") return <strong key={key}>{inner}</strong>;
    return mark === "emphasis" ? <em key={key}>{inner}</em> : inner;
  });
}
