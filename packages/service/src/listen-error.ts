/** Says in one sentence why a program cannot listen, and what helps. */
import { ServiceError } from './service-error.ts'

export function explainListenError(
  cause: unknown,
  hostname: string,
  port: number,
  withTls: boolean,
): ServiceError {
  const code = (cause as { code?: unknown }).code
  if (code === 'EADDRINUSE') {
    return new ServiceError(
      'port_busy',
      `port ${port} on ${hostname} is in use; stop the other program or choose another port`,
      { cause },
    )
  }
  if (code === 'EACCES') {
    return new ServiceError(
      'address_unavailable',
      `listening on port ${port} is not permitted; choose a port above 1023 or grant the right`,
      { cause },
    )
  }
  if (code === 'EADDRNOTAVAIL') {
    return new ServiceError(
      'address_unavailable',
      `this machine has no address ${hostname}; choose one it has, such as 127.0.0.1`,
      { cause },
    )
  }
  if (withTls) {
    return new ServiceError(
      'certificate_unusable',
      'the TLS certificate and key cannot be used; give a PEM certificate chain and the key that belongs to it',
      { cause },
    )
  }
  return new ServiceError('address_unavailable', `cannot listen on ${hostname} port ${port}`, {
    cause,
  })
}
