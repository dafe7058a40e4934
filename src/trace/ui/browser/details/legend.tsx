import legend from "../content/legend.json" with { type: "json" };
import { say } from "../language.js";
import { KINDS, Sign } from "../marks.js";
import { SIGNS, type Tone } from "../picture/status.js";

/** The meaning of signs, which opens above the foot of the page. */
export function Legend() {
  const tones = Object.entries(legend.tones) as [Tone, string][];
  return (
    <details class="legend">
      <summary>{say("Legend")}</summary>
      <div>
        <ul class="cluster-signs">
          {tones.map(([tone, meaning]) => (
            <li key={tone} class={tone}>
              <span class="sign-of">{SIGNS[tone]}</span> {say(meaning)}
            </li>
          ))}
        </ul>
        <ul>
          {KINDS.map(([kind, meaning]) => (
            <li key={kind}>
              <Sign kind={kind} /> {say(meaning)}
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}
