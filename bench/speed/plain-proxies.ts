/** nginx and haproxy as plain reverse proxies with one thread: what the machine can do at best. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, startChild, untilAnswers } from './child.ts'
import { jsonType, partOf, type Skipped, type Target } from './target.ts'

export type Place = {
  /** A separate folder for files. */
  readonly folder: string
  readonly modelPort: number
  readonly certPath: string
  readonly keyPath: string
  /** Certificate and key in one file. */
  readonly bundlePath: string
}

const startWithinMs = 20_000

/** Streams in both directions, so that it is as fast as possible with long bodies. */
export async function startNginx(place: Place): Promise<Target | Skipped> {
  const program = Bun.which('nginx') ?? Bun.which('/usr/sbin/nginx')
  if (program === null) return { name: 'nginx', why: 'not installed (apt install nginx-light)' }
  const { folder, modelPort } = place
  const [port, tlsPort] = [freePort(), freePort()]
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/nginx-${name};`)
    .join(' ')
  const path = join(folder, 'nginx.conf')
  writeFileSync(
    path,
    `worker_processes 1; daemon off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
events { worker_connections 8192; }
http { access_log off; keepalive_requests 100000000; client_max_body_size 64m; ${temporary}
  upstream model { server 127.0.0.1:${modelPort}; keepalive 1024; keepalive_requests 100000000; }
  server { listen 127.0.0.1:${port} backlog=4096; listen 127.0.0.1:${tlsPort} ssl backlog=4096;
    ssl_certificate ${place.certPath}; ssl_certificate_key ${place.keyPath};
    location / { proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_request_buffering off; } } }`,
  )
  const child = startChild('nginx', 'measured', [program, '-e', `${folder}/nginx.log`, '-c', path])
  await untilAnswers(`http://127.0.0.1:${port}/health`, startWithinMs, 200)
  return { name: 'nginx', port, tlsPort, headers: jsonType, parts: [partOf(child)] }
}

export async function startHaproxy(place: Place): Promise<Target | Skipped> {
  const program = Bun.which('haproxy') ?? Bun.which('/usr/sbin/haproxy')
  if (program === null) return { name: 'haproxy', why: 'not installed (apt install haproxy)' }
  const [port, tlsPort] = [freePort(), freePort()]
  const path = join(place.folder, 'haproxy.cfg')
  writeFileSync(
    path,
    `global
  nbthread 1
  maxconn 8192
defaults
  mode http
  timeout connect 10s
  timeout client 120s
  timeout server 120s
  option http-server-close
  option http-keep-alive
  http-reuse always
frontend plain
  bind 127.0.0.1:${port}
  bind 127.0.0.1:${tlsPort} ssl crt ${place.bundlePath}
  default_backend model
backend model
  server one 127.0.0.1:${place.modelPort} pool-max-conn -1
`,
  )
  const child = startChild('haproxy', 'measured', [program, '-db', '-f', path])
  await untilAnswers(`http://127.0.0.1:${port}/health`, startWithinMs, 200)
  return { name: 'haproxy', port, tlsPort, headers: jsonType, parts: [partOf(child)] }
}
