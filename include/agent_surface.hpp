/* Agent Surface for C++17, header-only, over the C interface of agent_surface.h; a C++20 compiler adds co_await.
 *
 *   auto surface = agent_surface::registry::make().value();
 *   auto hall = surface.add(R"({"type": "hall", …})", {{"greet", [](const agent_surface::call& call) { return call.input; }}}).value();
 *   std::string result = surface.invoke_wait(R"({"capabilityId": "view:hall.greet"})").value();
 *
 * What holds everywhere, so that the comments below need not say it again:
 *
 * Ownership: registry, registration, invocation, subscription, toolset and the replies own one handle each; they move, and
 *   give it back when they end. Texts go in as views and are copied; texts come out as std::string. JSON stays text here:
 *   with AGENT_SURFACE_WITH_NLOHMANN defined, nlohmann::json goes in, and out of callbacks, as it is.
 * Callbacks: any callable. It is copied into the library, and destroyed once, after its last call. What it refers to must
 *   live until its registry has closed, or be held by it (std::shared_ptr). Calls come from any thread and may overlap,
 *   unless `serial` is set. An exception never crosses: it fails the callback, which never means permission.
 * Threads: every function may be called from any thread; one object is not moved or destroyed while another thread uses it.
 * Blocking: only functions that say so wait.
 * Errors: a function that can fail answers a result<T>: test it, or take value(), which throws agent_surface::exception.
 *   What went wrong with an agent's call is no error here but part of the result envelope. std::bad_alloc may always come.
 *
 * The documents are those of spec/abi.md, which is the whole contract. */
#ifndef AGENT_SURFACE_HPP
#define AGENT_SURFACE_HPP

#include "agent_surface/hooks.hpp"
#include "agent_surface/invocation.hpp"
#include "agent_surface/registry.hpp"
#include "agent_surface/reply.hpp"
#include "agent_surface/result.hpp"
#include "agent_surface/text.hpp"
#include "agent_surface/toolset.hpp"
#include "agent_surface/verify.hpp"

#ifdef AGENT_SURFACE_WITH_NLOHMANN
#include "agent_surface/nlohmann.hpp"
#endif

#endif
