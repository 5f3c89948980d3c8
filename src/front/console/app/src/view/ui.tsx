// SPDX-License-Identifier: Apache-2.0
//
// Pieces that several views share.

import { type Signal, signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

const ICONS: Record<string, string> = {
  run: "M4 2.5v11l9-5.5z",
  stop: "M3.5 3.5h9v9h-9z",
  again: "M8 3a5 5 0 1 0 4.6 3M13 2v4H9",
  fork: "M5 5.5v5M5 5.5a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM5 13.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM11 5.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM11 5.500c0 3-2 3.500-5.500 5",
  edit: "M3 13l.6-2.8L11 2.8l2.2 2.2-7.4 7.4z",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5L7.5 13a2.8 2.8 0 0 1-4-4L5 7.5",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  folder: "M2 4.500h4l1.5 1.500H14v7H2z",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  down: "M8 2.500v8M4.5 7.500L8 11l3.5-3.500M3 13.500h10",
  up: "M8 11V3M4.5 6L8 2.5 11.5 6M3 13.500h10",
  trash: "M3 4.500h10M6 4.500V3h4v1.500M4.5 4.500l.5 9h6l.5-9",
  bell: "M4 11V7.500a4 4 0 0 1 8 0V11l1 1.500H3zM7 14h2",
};

export function Icon({ name }: { name: string }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={ICONS[name] ?? ""} class={name === "run" || name === "stop" ? "solid" : ""} />
    </svg>
  );
}

interface ButtonProps {
  icon?: string;
  label: string; // what it does; shown, or for an icon alone read and on hover
  text?: boolean; // show the label
  kind?: "plain" | "primary" | "danger" | "quiet";
  onClick: () => void;
  disabled?: boolean;
  pressed?: boolean;
}

export function Button({ icon, label, text, kind = "quiet", onClick, disabled, pressed }: ButtonProps): JSX.Element {
  const shown = text ?? !icon;
  return (
    <button
      type="button"
      class={`button ${kind}`}
      onClick={onClick}
      disabled={disabled}
      title={shown ? undefined : label}
      aria-label={shown ? undefined : label}
      aria-pressed={pressed}
    >
      {icon && <Icon name={icon} />}
      {shown && label}
    </button>
  );
}

export function Field({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

export const Search = ({ label, value }: { label: string; value: Signal<string> }): JSX.Element => (
  <input
    type="search"
    placeholder={label}
    aria-label={label}
    value={value}
    onInput={(event) => (value.value = event.currentTarget.value)}
  />
);

// The time, read every so often; in milliseconds, both.
export function useNow(every: number): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, every);
    return () => clearInterval(timer);
  }, []);
  return now.value;
}

// ---- a question before something is lost ----

interface Question {
  text: string;
  act: string;
  done: (yes: boolean) => void;
}
const question = signal<Question | null>(null);

// Whether the user wants it. `act`: what the button says that does it.
export const confirm = (text: string, act: string): Promise<boolean> =>
  new Promise((done) => {
    question.value?.done(false);
    question.value = { text, act, done };
  });

export function Confirmation(): JSX.Element | null {
  const asked = question.value;
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (asked) dialog.current?.showModal();
  }, [asked]);
  if (!asked) return null;
  const answer = (yes: boolean): void => {
    dialog.current?.close();
    question.value = null;
    asked.done(yes);
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby="question"
      onCancel={(event) => {
        event.preventDefault();
        answer(false);
      }}
    >
      <p id="question">{asked.text}</p>
      <div class="row end">
        <Button label="Cancel" kind="plain" onClick={() => answer(false)} />
        <Button label={asked.act} kind="danger" onClick={() => answer(true)} />
      </div>
    </dialog>
  );
}
