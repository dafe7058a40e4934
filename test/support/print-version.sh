#!/bin/sh
exec kubectl get --raw /version
