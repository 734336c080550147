import type { ButtonHTMLAttributes } from 'preact';
import type { Busy } from './busy.ts';

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'onClick' | 'type'> {
  /** What it waits for. */
  readonly busy?: Pick<Busy, 'now'>;
  /** Without it, the button submits its form. */
  readonly onClick?: ((event: MouseEvent) => unknown) | undefined;
}

/** A button, disabled while an action is in progress. */
export const Button = ({ busy, ...props }: ButtonProps) => (
  <button type={props.onClick ? 'button' : 'submit'} disabled={busy?.now.value} {...props} />
);
