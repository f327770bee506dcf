/** The portal's few icons, drawn in the colour of the surrounding text. */

const paths = {
  check: 'm5 12.5 4.5 4.5L19 7.5',
  cross: 'm6 6 12 12M18 6 6 18',
  dash: 'M6 12h12',
  warning: 'M12 4 2.8 19.5h18.4zM12 10v4.5M12 17.2v.1',
  shield: 'M12 3 4.5 5.8v5.6c0 4.7 3.1 8 7.5 9.6 4.4-1.6 7.5-4.9 7.5-9.6V5.8z',
  copy: 'M9 9h10v11H9zM15 9V4H5v11h4',
  menu: 'M4 6.5h16M4 12h16M4 17.5h16',
  rocket: 'M5 15c-1.5 1-2 4-2 6 2 0 5-.5 6-2M9 15l-3-3c1-5 5-9 14-9 0 9-4 13-9 14zM15 9v.1',
  chat: 'M4 5h16v11H10l-5 4v-4H4z',
  box: 'm12 3 8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12 4 7.5',
  key: 'M8 11.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12.5 20 3.5M16 7.5l3 3',
  chart: 'M4 20V4M4 20h16M8.5 16v-5M13 16V7M17.5 16v-7',
  people:
    'M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM2.5 20c.5-3.5 3-5.5 6.5-5.5s6 2 6.5 5.5M16 5.5a3.2 3.2 0 0 1 0 6.3M18 14.8c2 .7 3.2 2.5 3.5 5.2',
  list: 'M9 6h11M9 12h11M9 18h11M4.5 6v.1M4.5 12v.1M4.5 18v.1',
  person: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20.5c.7-4 3.5-6 7.5-6s6.8 2 7.5 6',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  half: 'M12 3.5a8.5 8.5 0 1 0 0 17zM12 3.5a8.5 8.5 0 0 1 0 17',
  stop: 'M7 7h10v10H7z',
  send: 'M12 19V5M6 11l6-6 6 6',
  table: 'M4 5h16v14H4zM4 10h16M4 14.5h16M10 10v9',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 9.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6z',
  edit: 'M4 20l1-4.5L16 4.5l3.5 3.5L8.5 19zM13.5 7l3.5 3.5',
  again: 'M5 12a7 7 0 1 1 2.2 5.1M5 12V7M5 12h5',
  code: 'm8 7-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
} as const

export type IconName = keyof typeof paths

/** Never the only carrier of a meaning, so it is hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
