/** Explains in one sentence why a program cannot listen, and what to do. */
export type ListenErrorCode = 'port_busy' | 'address_unavailable' | 'certificate_unusable'

export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code: ListenErrorCode

  constructor(code: ListenErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export function explainListenError(
  cause: unknown,
  hostname: string,
  port: number,
  withTls: boolean,
): ListenError {
  const code = (cause as { code?: unknown }).code
  if (code === 'EADDRINUSE') {
    return new ListenError(
      'port_busy',
      `port ${port} on ${hostname} is in use; stop the other program or choose another port`,
      { cause },
    )
  }
  if (code === 'EACCES') {
    return new ListenError(
      'address_unavailable',
      `listening on port ${port} is not permitted; choose a port above 1023 or grant the permission`,
      { cause },
    )
  }
  if (code === 'EADDRNOTAVAIL') {
    return new ListenError(
      'address_unavailable',
      `this machine has no address ${hostname}; choose one it has, such as 127.0.0.1`,
      { cause },
    )
  }
  if (withTls) {
    return new ListenError(
      'certificate_unusable',
      'the TLS certificate and key cannot be used; provide a PEM certificate chain and its private key',
      { cause },
    )
  }
  return new ListenError('address_unavailable', `cannot listen on ${hostname} port ${port}`, {
    cause,
  })
}
