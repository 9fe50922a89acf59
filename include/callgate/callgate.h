// Everything in one include, except coroutines (async.h).
#pragma once

#include <callgate/approvals.h>
#include <callgate/args.h>
#include <callgate/calls.h>
#include <callgate/context.h>
#include <callgate/definitions.h>
#include <callgate/error.h>
#include <callgate/events.h>
#include <callgate/exceptions.h>
#include <callgate/input.h>
#include <callgate/json.h>
#include <callgate/observer.h>
#include <callgate/outcome.h>
#include <callgate/policy.h>
#include <callgate/registry.h>
#include <callgate/result.h>
#include <callgate/runtime.h>
#include <callgate/schema.h>
#include <callgate/secret_stores.h>
#include <callgate/secrets.h>
#include <callgate/tool.h>
#include <callgate/typed.h>
#include <callgate/views.h>
