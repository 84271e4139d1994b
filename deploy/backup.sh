#!/bin/sh
# Copies the database and then the artifacts of a running server to a folder, and removes copies of
# the database that are older than 30 days. Run it as the user tracker, for example daily by cron.
set -eu
to=${1:?usage: backup.sh FOLDER [ENV-FILE]}
env=${2:-/etc/tracker/tracker.env}
umask 077
mkdir -p "$to/artifacts"
tracker backup --env-file "$env" "$to/tracker-$(date -u +%Y%m%dT%H%M%SZ).db"
root=$(tracker config --env-file "$env" | awk '$1 == "SERVICE_ARTIFACT_ROOT" {print $2}')
cp -Rnp "$root/." "$to/artifacts/"
find "$to" -maxdepth 1 -name 'tracker-*.db' -mtime +30 -exec rm {} +
