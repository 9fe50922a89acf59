# cmake -DCALLGATE=PROGRAM -DTO=DIR -P callgate_texts.cmake: what the program says of itself, as files under DIR/share, in
# the places where man and the shells look for it.
function(callgate_says file)
  execute_process(COMMAND ${CALLGATE} ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${TO}/share/${file} "${text}")
endfunction()

file(REMOVE_RECURSE ${TO})
callgate_says(bash-completion/completions/callgate completion bash)
callgate_says(zsh/site-functions/_callgate completion zsh)
callgate_says(fish/vendor_completions.d/callgate.fish completion fish)
callgate_says(man/man1/callgate.1 help --man)
# What can stand behind the program's name: a verb, a tab and its summary on each line after the first.
execute_process(COMMAND ${CALLGATE} complete -- "" OUTPUT_VARIABLE verbs COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[a-z-]+\t" verbs "${verbs}")
foreach(verb IN LISTS verbs)
  string(STRIP "${verb}" verb)
  callgate_says(man/man1/callgate-${verb}.1 help --man ${verb})
endforeach()
