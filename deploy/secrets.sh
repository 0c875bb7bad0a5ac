#!/bin/sh
# Makes the secrets that compose.yaml asks for, where they are missing: deploy/secrets/ and deploy/.env, or the same in the
# folder that is given. What is there already is never changed.
set -eu

folder=${1:-$(dirname "$0")}
umask 077
mkdir -p "$folder/secrets"

random() { od -An -N 32 -tx1 /dev/urandom | tr -d ' \n'; }

# In a container a secret belongs to who made the file, and another user reads it: so each may be read by all, and the
# folder around them be entered by its owner alone.
keep() {
  [ -e "$folder/secrets/$1" ] && return
  printf '%s\n' "$2" >"$folder/secrets/$1.new"
  chmod 444 "$folder/secrets/$1.new"
  mv "$folder/secrets/$1.new" "$folder/secrets/$1"
  echo "made $folder/secrets/$1"
}

keep jwt_secret "$(random)"
keep postgres_password "$(random)"
keep database_url "postgresql://steersman:$(cat "$folder/secrets/postgres_password")@postgres:5432/steersman"

[ -e "$folder/.env" ] && exit
cat >"$folder/.env" <<'ENV'
# What compose.yaml takes from outside. An address of your own: PUBLISH=0.0.0.0:8000
SECRETS=./secrets
ANTHROPIC_API_KEY=
ENV
echo "made $folder/.env: put your ANTHROPIC_API_KEY into it"
