/** Shown if the page was loaded without HTTPS. */
import { Notice } from '../../view/notice.tsx'

export const InsecureNotice = () => (
  <Notice kind="bad" title="This page came without HTTPS." urgent>
    <p>
      Browsers keep their cryptography from such pages, and anyone on the way could have changed
      this one. Open the portal with <code>https://</code>, or on the machine itself with{' '}
      <code>http://localhost</code>.
    </p>
  </Notice>
)
