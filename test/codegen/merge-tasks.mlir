// RUN: transformer-opt %s --allow-unregistered-dialect --transformer-cpu-merge-tasks | FileCheck %s

// @b does what @a does, whatever its values are called; @c does not.
// CHECK: func.func private @a(
// CHECK-NOT: @b
// CHECK: func.func private @c(
// CHECK-NOT: @b
func.func private @a(%x: index, %y: index) {
  "test.sum"(%x, %y) {n = 1} : (index, index) -> ()
  return
}
func.func private @b(%y: index, %x: index) {
  "test.sum"(%y, %x) {n = 1} : (index, index) -> ()
  return
}
func.func private @c(%x: index, %y: index) {
  "test.sum"(%y, %x) {n = 1} : (index, index) -> ()
  return
}
// CHECK: func.func private @elsewhere(index, index)
func.func private @elsewhere(index, index)
// What others may call by its name stays.
// CHECK: func.func @public(
func.func @public(%x: index, %y: index) {
  "test.sum"(%x, %y) {n = 1} : (index, index) -> ()
  return
}
// CHECK: func.func @main()
// CHECK: %[[A:.*]] = {{.*}}constant @a
// CHECK: %[[B:.*]] = {{.*}}constant @a
// CHECK: %[[C:.*]] = {{.*}}constant @c
// CHECK: %[[E:.*]] = {{.*}}constant @elsewhere
// CHECK: %[[P:.*]] = {{.*}}constant @public
// CHECK: %[[AGAIN:.*]] = {{.*}}constant @a
// CHECK: "test.use"(%[[A]], %[[B]], %[[C]], %[[E]], %[[P]], %[[AGAIN]])
func.func @main() {
  %a = func.constant @a : (index, index) -> ()
  %b = func.constant @b : (index, index) -> ()
  %c = func.constant @c : (index, index) -> ()
  %e = func.constant @elsewhere : (index, index) -> ()
  %p = func.constant @public : (index, index) -> ()
  %again = func.constant @b : (index, index) -> ()
  "test.use"(%a, %b, %c, %e, %p, %again) : ((index, index) -> (), (index, index) -> (), (index, index) -> (), (index, index) -> (), (index, index) -> (), (index, index) -> ()) -> ()
  return
}
